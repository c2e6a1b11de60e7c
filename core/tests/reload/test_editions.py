"""What of a process belongs to a plugin's distribution, and how threads import it."""

from __future__ import annotations

import importlib
import sys
import threading
from types import SimpleNamespace

import pytest

from ferrule import editions
from ferrule.entry import Entry
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.slots import TOOL_GROUP

WAIT_S = 120


@pytest.fixture
def site(tmp_path):
    """A site folder; call it with a distribution's modules by path; returns its entry."""
    made = []
    before, path = set(sys.modules), list(sys.path)

    def install(name, **files):
        location = tmp_path / f"{name}-1.0.dist-info"
        location.mkdir(exist_ok=True)
        paths = [file.replace("__", "/") + ".py" for file in files]
        paths = [each.replace("/init.py", "/__init__.py") for each in paths]
        for each, text in zip(paths, files.values(), strict=True):
            (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / each).write_text(text)
        (location / "RECORD").write_text("".join(f"{each},,\n" for each in paths))
        target = paths[0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        place = str(tmp_path)
        made.append(name)
        where = {"location": str(location), "roots": (place,), "import_path": place}
        return Entry(TOOL_GROUP, name, target, name, "1.0", **where)

    yield install
    for name in made:
        editions.forget(name)
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


def test_of_two_distributions_in_one_namespace_one_is_replaced_alone(site):
    one = site("acme-one", acmespace__deep__one="WORD = 'old'\n")
    two = site("acme-two", acmespace__deep__two="")
    first, other = editions.load_entry(one), editions.load_entry(two)

    site("acme-one", acmespace__deep__one="WORD = 'new'\n")
    editions.follow("acme-one", [one])

    assert editions.load_entry(two) is other
    assert sys.modules["acmespace.deep.two"] is other
    assert first.WORD == "old"
    assert importlib.import_module("acmespace.deep").one.WORD == "new"


def test_what_is_taken_away_is_not_found_in_its_namespace_any_more(site):
    one = site("acme-one", acmespace__one="")
    editions.load_entry(one)

    editions.follow("acme-one", [])

    assert not hasattr(sys.modules["acmespace"], "one")


def test_what_cannot_be_imported_leaves_the_namespace_as_it_was(site):
    one = site("acme-one", acmespace__one="WORD = 'old'\n")
    old = editions.load_entry(one)
    site("acme-one", acmespace__one="WORD = 'new'\nraise ValueError('half')\n")

    with pytest.raises(ValueError, match="half"):
        editions.follow("acme-one", [one])

    assert sys.modules["acmespace"].one is old


SLOW = """\
import acme_gate
acme_gate.began.set()
acme_gate.go.wait(120)
from acme_first.inner import WORD
"""


@pytest.fixture
def gate(monkeypatch):
    """Lets a slow import go on; it does at the end, whatever happens."""
    made = SimpleNamespace(began=threading.Event(), go=threading.Event())
    monkeypatch.setitem(sys.modules, "acme_gate", made)
    yield made
    made.go.set()


def test_two_threads_import_a_plugin_one_of_them_for_another_plugin(site, gate, monkeypatch):
    first = site("acme-first", acme_first__init=SLOW, acme_first__inner="WORD = 'ready'\n")
    second = site("acme-second", acme_second="from acme_first import WORD\n")
    monkeypatch.setattr(editions, "PATIENCE_S", 2.0 * WAIT_S)
    found = {}

    def load(entry):
        found[entry.name] = editions.load_entry(entry).WORD

    with editions.importing(first):  # so that it has an edition, and nothing of it is loaded
        pass
    threads = [threading.Thread(target=load, args=(each,), daemon=True) for each in (second, first)]
    threads[0].start()
    assert gate.began.wait(WAIT_S)
    threads[1].start()
    threads[1].join(0.2)  # it waits for the other one, in whatever way
    gate.go.set()
    for thread in threads:
        thread.join(WAIT_S)

    assert found == {"acme-first": "ready", "acme-second": "ready"}


def test_an_import_that_does_not_end_keeps_nobody_waiting_for_ever(site, gate, monkeypatch):
    first = site("acme-first", acme_first__init=SLOW, acme_first__inner="WORD = 'ready'\n")
    thread = threading.Thread(target=editions.load_entry, args=(first,), daemon=True)
    thread.start()
    assert gate.began.wait(WAIT_S)
    monkeypatch.setattr(editions, "PATIENCE_S", 0.1)

    with pytest.raises(PluginError, match="does not end"):
        editions.follow("acme-first", [first])

    gate.go.set()
    thread.join(WAIT_S)
    assert sys.modules["acme_first"].WORD == "ready"
