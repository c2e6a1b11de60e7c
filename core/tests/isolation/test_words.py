"""Where a user decides, it is said what runs unconfined and what does not."""

import pytest

from ferrule.entry import Entry
from ferrule.words import in_words
from ferrule_hookspecs.manifest import Capabilities, Manifest

ASKS = Manifest(capabilities=Capabilities(hosts=("tickets.acme.example",)))


def entry(group, name):
    return Entry(group, name, "t:T", "acme-ticket", "1.0", "/x", manifest=ASKS)


TOOL = entry("ferrule.tools", "acme_ticket")
PROVIDER = entry("ferrule.providers", "acme_wire")
APART = {"plugins": {"isolation": {"acme-ticket": "process"}}}
UNCONFINED = "runs in the process of Ferrule, with all of your rights and unconfined, and"
CONFINED = "runs in a confined process of its own"
NOT_HELD = "What runs in the process of Ferrule is not held to what it asks for."


@pytest.mark.parametrize(
    ("entries", "values", "said"),
    [
        ([TOOL], {}, {UNCONFINED, NOT_HELD}),
        ([TOOL], APART, {CONFINED}),
        ([PROVIDER, TOOL], APART, {UNCONFINED, f"and {CONFINED}", CONFINED, NOT_HELD}),
    ],
    ids=["in this process", "apart", "both"],
)
def test_what_runs_where_is_said_in_words(entries, values, said):
    told = in_words(entries, values)

    both = {UNCONFINED, f"and {CONFINED}", CONFINED, NOT_HELD}
    assert {words for words in both if words in told} == said
    assert "asks to talk to tickets.acme.example" in told
