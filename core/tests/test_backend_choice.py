"""Which sandbox commands run in, why, and what a person may do without."""

import pytest

from ferrule.backend_choice import choose_backend, explain_choice
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Capabilities, ResolvedPolicy

WRITE = ResolvedPolicy("workspace-write", "/w")
READ = ResolvedPolicy("read-only", "/w")
FREE = ResolvedPolicy("danger-full-access", "/w", unconfined=True)
FULL = {"filesystem", "deny_read", "network", "protected_paths", "missing_names"}
LESS = {"filesystem", "deny_read", "network"}


class Backend:
    def __init__(self, name, enforced):
        self.name = name
        self._enforced = enforced

    def probe(self):
        if self._enforced is None:
            return Capabilities(available=False, reason=f"no {self.name} here")
        is_local = self.name != "far"
        return Capabilities(True, f"{self.name} works", frozenset(self._enforced), is_local)


class Manager:
    """What choosing asks of a plugin manager."""

    def __init__(self, **backends):
        self._backends = backends

    def names(self, group):
        return tuple(self._backends)

    def driver(self, group, name, context):
        return Backend(name, self._backends.get(name, ()))


def context(tmp_path, *gaps):
    return PluginContext(tmp_path, {"sandbox_accept_gaps": list(gaps)})


@pytest.fixture
def choose(tmp_path):
    def choose(manager, policy=WRITE, *, name="auto", gaps=()):
        said = []
        backend = choose_backend(manager, name, context(tmp_path, *gaps), policy, said.append)
        return backend.name, said

    return choose


def test_the_best_backend_is_taken_without_a_word(choose):
    assert choose(Manager(bubblewrap=FULL, landlock=LESS)) == ("bubblewrap", [])


def test_on_macos_seatbelt_is_taken(choose, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")

    assert choose(Manager(bubblewrap=FULL, landlock=LESS, seatbelt=FULL)) == ("seatbelt", [])


def test_on_macos_seatbelt_is_what_to_install(choose, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(SandboxUnavailableError, match="pip install ferrule-sandbox-seatbelt"):
        choose(Manager(bubblewrap=FULL, none=set()))


def test_on_windows_its_own_sandbox_is_taken_or_is_what_to_install(choose, monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")

    assert choose(Manager(bubblewrap=FULL, windows=FULL)) == ("windows", [])
    with pytest.raises(SandboxUnavailableError, match="pip install ferrule-sandbox-windows"):
        choose(Manager(bubblewrap=FULL, none=set()))


def test_a_way_on_windows_that_leaves_the_network_open_is_refused(choose, monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")
    enforced = {"filesystem", "protected_paths", "missing_names"}

    with pytest.raises(PolicyUnenforceableError) as caught:
        choose(Manager(windows=enforced))

    assert str(caught.value).endswith('sandbox_accept_gaps = ["deny_read", "network"]')


def test_elsewhere_seatbelt_is_not_even_tried(choose):
    _, said = choose(Manager(bubblewrap=None, landlock=LESS, seatbelt=None), READ)

    assert "seatbelt" not in said[0]


def test_falling_back_is_said_with_the_reason_and_what_is_open(choose):
    name, said = choose(Manager(bubblewrap=None, landlock=LESS), READ)

    assert name == "landlock"
    assert len(said) == 1
    assert "the sandbox bubblewrap is not usable: no bubblewrap here" in said[0]
    assert "does not confine: protected places in writable folders" in said[0]


def test_a_mode_that_promises_more_is_refused_with_both_mends(choose):
    with pytest.raises(PolicyUnenforceableError) as caught:
        choose(Manager(bubblewrap=None, landlock=LESS))

    text = str(caught.value)
    assert "no bubblewrap here" in text
    assert "the sandbox landlock cannot enforce protected_paths, missing_names here" in text
    assert text.endswith('sandbox_accept_gaps = ["protected_paths", "missing_names"]')


def test_the_line_to_write_is_the_line_that_helps(choose):
    gaps = ["protected_paths", "missing_names"]
    name, said = choose(Manager(bubblewrap=None, landlock=LESS), gaps=gaps)

    assert name == "landlock"
    assert "accepted by sandbox_accept_gaps: protected_paths, missing_names" in said[0]


def test_accepting_one_of_two_gaps_is_not_enough(choose):
    with pytest.raises(PolicyUnenforceableError, match="cannot enforce missing_names here"):
        choose(Manager(landlock=LESS), gaps=["protected_paths"])


def test_what_is_accepted_changes_nothing_where_it_is_enforced(choose):
    manager = Manager(bubblewrap=FULL, landlock=LESS)
    assert choose(manager, gaps=["protected_paths", "missing_names"]) == ("bubblewrap", [])


@pytest.mark.parametrize(("name", "taken"), [("far", "far"), ("near", "none"), ("auto", "none")])
def test_full_access_to_another_machine_is_not_full_access_to_this_one(choose, name, taken):
    assert choose(Manager(far=(), near=FULL), FREE, name=name)[0] == taken


def test_a_named_backend_is_never_exchanged(choose):
    with pytest.raises(SandboxUnavailableError, match="the sandbox bubblewrap is not usable"):
        choose(Manager(bubblewrap=None, landlock=FULL), name="bubblewrap")


def test_a_backend_that_does_not_confine_writes_cannot_be_talked_into(choose):
    with pytest.raises(PolicyUnenforceableError) as caught:
        choose(Manager(none=set()), name="none", gaps=["protected_paths", "network"])

    assert "filesystem" in str(caught.value)
    assert "sandbox_accept_gaps" not in str(caught.value)


def test_without_any_backend_the_mend_is_named(choose):
    with pytest.raises(SandboxUnavailableError, match="apt install bubblewrap"):
        choose(Manager(none=set()))


@pytest.mark.parametrize(
    ("manager", "name", "policy", "verdicts"),
    [
        (Manager(bubblewrap=FULL, landlock=LESS), "auto", READ, ["chosen", "not needed"]),
        (Manager(bubblewrap=FULL, landlock=LESS), "auto", WRITE, ["chosen", "insufficient"]),
        (Manager(bubblewrap=None, landlock=LESS), "auto", READ, ["unavailable", "chosen"]),
        (Manager(bubblewrap=None, landlock=LESS), "auto", WRITE, ["unavailable", "insufficient"]),
        (Manager(landlock=LESS), "auto", READ, ["not installed", "chosen"]),
        (Manager(landlock=LESS), "landlock", READ, ["chosen"]),
        (Manager(), "landlock", READ, ["not installed"]),
        (Manager(), "auto", FREE, ["chosen"]),
    ],
)
def test_the_choice_is_explained_for_every_backend(tmp_path, manager, name, policy, verdicts):
    found = explain_choice(manager, name, context(tmp_path), policy)

    assert [each.verdict for each in found] == verdicts
    assert all(each.reason for each in found)


def test_the_explanation_agrees_with_the_choice(tmp_path, choose):
    manager = Manager(bubblewrap=None, landlock=LESS)
    gaps = ("protected_paths", "missing_names")
    found = explain_choice(manager, "auto", context(tmp_path, *gaps), WRITE)

    chosen = [each.backend for each in found if each.verdict == "chosen"]
    assert chosen == [choose(manager, gaps=gaps)[0]]
