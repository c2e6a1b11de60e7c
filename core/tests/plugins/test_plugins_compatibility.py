"""What metadata says about versions: read as the packaging standard does."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ferrule.versions import parse, satisfies
from ferrule.words import in_words


@pytest.mark.parametrize(
    ("version", "specifier", "fits"),
    [
        ("0.1.0", ">=0.1,<0.2", True),
        ("0.2.0", ">=0.1,<0.2", False),
        ("0.2.0rc1", ">=0.1,<0.2", False),
        ("0.2.0rc1", ">=0.2", False),
        ("0.2.0rc1", ">=0.2.0b2,<0.2.0rc2", True),
        ("0.2.0.dev3", ">=0.1,<0.2", False),
        ("0.1.9rc1", ">=0.1,<0.2", True),
        ("1.0", "~=1.0", True),
        ("3.11.7", ">=3.11", True),
        ("3.11.7", "!=3.11.*", False),
    ],
)
def test_a_pre_release_belongs_to_the_version_it_leads_to(version, specifier, fits):
    assert satisfies(version, specifier) is fits


def test_pre_releases_are_counted_and_not_spelled():
    order = ["1.0.dev1", "1.0a1", "1.0alpha2", "1.0b1", "1.0rc2", "1.0rc10", "1.0"]
    assert all(parse(lower) < parse(higher) for lower, higher in pairwise(order))
    assert parse("1.0c1") == parse("1.0rc1")


@pytest.mark.parametrize(
    ("requires", "told"),
    [
        (">=2", "needs ferrule-hookspecs>=2, installed is 0.1.0; upgrade ferrule-core and"),
        ("[more]>=2", "needs ferrule-hookspecs>=2, installed is 0.1.0; upgrade ferrule-core and"),
        ("==2.*", "needs ferrule-hookspecs==2.*, installed is 0.1.0; upgrade ferrule-core and"),
        (">0.1.0", "needs ferrule-hookspecs>0.1.0, installed is 0.1.0; upgrade ferrule-core and"),
        ("==0.0.*", "needs ferrule-hookspecs==0.0.*, installed is 0.1.0; upgrade acme-one"),
        (" (<0.1)", "needs ferrule-hookspecs<0.1, installed is 0.1.0; upgrade acme-one"),
        (" >=two", "needs ferrule-hookspecs '>=two', which cannot be read"),
        ("[more]>=0.1", ""),
        (">=2; extra == 'tests'", ""),
        (" @ file:///somewhere", ""),
    ],
)
def test_r17_the_requirement_is_read_in_all_its_forms(site, tool_source, requires, told):
    site.add_contract("0.1.0")
    site.add("acme-one", {"ferrule.tools:one": "acme_one:Ticket"}, {}, requires=requires)
    [standing] = [
        s for s in site.manager({"plugins": {"disabled": []}}).standings if s.entry.name == "one"
    ]
    assert told in standing.reason
    assert (standing.state == "incompatible") is bool(told)


def test_r17_another_python_is_told_from_metadata(site, tmp_path, tool_source):
    marker = tmp_path / "ran"
    source = f"open({str(marker)!r}, 'w')\n" + tool_source("one")
    info = site.add("acme-one", {"ferrule.tools:one": "acme_one:Ticket"}, {"acme_one.py": source})
    metadata = (info / "METADATA").read_text()
    (info / "METADATA").write_text(metadata.replace("Summary", "Requires-Python: >=4\nSummary"))
    site.manager()
    [report] = site.reports
    assert "it is incompatible: acme-one 1.0 needs Python >=4, Ferrule runs on 3." in report
    assert not marker.exists()


def test_a_plugin_without_a_range_is_used_and_it_is_said(site, tool_source):
    site.add(
        "acme-one", {"ferrule.tools:one": "acme_one:Ticket"}, {"acme_one.py": tool_source("one")}
    )
    assert "does not say which versions of ferrule-hookspecs it is made for" in in_words(
        site.index().all_entries(), {}
    )
    assert site.manager().names("ferrule.tools") == ["one"]
