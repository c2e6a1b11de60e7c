"""`ferrule plugins trust`: what an approval covers, and what becomes of what changed since."""

from __future__ import annotations

import base64
import hashlib
import os
from types import SimpleNamespace

import anyio
import pytest
from typer.testing import CliRunner

from ferrule.approval_record import record_approval
from ferrule.commands import plugin_decisions, plugins
from ferrule.guarding import is_guard
from ferrule.host import LocalHost
from ferrule_hookspecs.errors import FerruleError

JUDGE = "@hookimpl\ndef ferrule_tool_before(call):\n    return Verdict.allow()\n"
LISTEN = "@hookimpl\ndef ferrule_turn_start(turn):\n    pass\n"


@pytest.fixture
def trust(site, monkeypatch):
    """Run `ferrule plugins trust NAME` on the test's site folder, with options and an answer."""

    def trust(*words: str, answer: str = "", config: dict[str, object] | None = None) -> str:
        monkeypatch.setattr(plugin_decisions, "load_index", lambda environ: site.index())
        host = SimpleNamespace(
            environ=site.environ, config=lambda request: SimpleNamespace(values=config or {})
        )
        result = CliRunner().invoke(
            plugins.app, ["trust", *words], obj=host, input=answer, catch_exceptions=False
        )
        assert result.exit_code == 0
        return result.output

    return trust


def standing(site, config=None):
    (found,) = site.manager(config).standings
    return found


def test_an_approval_says_what_it_is_of_and_is_kept_with_the_hooks_that_are_served(site, trust):
    site.add_hooks("guard", JUDGE)

    told = trust("guard", "--yes")

    (entry,) = site.index().all_entries()
    assert "acme-guard 1.0 by Acme Corp" in told
    assert f"An approval covers this version and its contents, {entry.record_hash}." in told
    assert "Nobody has approved it yet." in told
    assert entry.approval.hooks == ("ferrule_tool_before",)
    assert (site.root / "home" / "approved-plugins.json").stat().st_mode & 0o777 == 0o600
    assert "You approved it on 2" in trust("guard", "--yes")


def test_what_each_package_of_a_distribution_asks_for_is_said_before_it_is_approved(site, trust):
    points = {"ferrule.plugins:a": "acme_a", "ferrule.plugins:b": "acme_b"}
    manifest = 'guards = true\n[capabilities]\nhosts = ["b.example"]\n'
    files = {"acme_a/__init__.py": "", "acme_b/__init__.py": "", "acme_b/ferrule.toml": manifest}
    site.add("acme-two", points, files)

    told = trust("acme-two", "--yes")

    assert "  - asks to talk to b.example\n" in told
    assert "  - guards: what it judges is refused" in told
    assert "is not held to what it asks for" in told
    assert {entry.approval.guards for entry in site.index().all_entries()} == {True}


def test_nobody_is_asked_where_nobody_can_answer(site, trust):
    site.add_hooks("guard", JUDGE)
    with pytest.raises(FerruleError, match="say it with --yes"):
        trust("guard")
    (entry,) = site.index().all_entries()
    assert entry.approval is None


def test_r08_a_new_version_is_not_used_until_it_is_approved(site, trust):
    site.add_hooks("guard", JUDGE)
    trust("guard", "--yes")
    assert standing(site).state == "active"

    site.add_hooks("guard", JUDGE, version="1.1")

    found = standing(site)
    assert found.state == "untrusted"
    assert found.reason.startswith("changed since you approved it on 2")
    assert "version was 1.0, is 1.1; look: ferrule plugins show acme-guard" in found.reason
    trust("acme-guard", "--yes")
    assert standing(site).state == "active"


def test_r08_other_contents_in_the_same_version_are_a_change(site, trust):
    site.add_hooks("guard", JUDGE)
    trust("guard", "--yes")
    site.add_hooks("guard", f"{JUDGE}# otherwise\n")
    assert "contents differ in the same version" in standing(site).reason


def test_r08_a_file_edited_or_added_beside_approved_code_is_a_change(site, trust):
    site.add("acme-p", {"ferrule.plugins:p": "acme_p"}, {"acme_p/__init__.py": "x = 1\n"})
    trust("p", "--yes")

    (site.folder / "acme_p" / "json.py").write_text("")
    assert "edited after installation: acme_p/json.py" in standing(site).reason
    (site.folder / "acme_p" / "json.py").unlink()
    assert standing(site).state == "active"
    (site.folder / "acme_p" / "__init__.py").write_text("x = 2\n")
    assert "edited after installation: acme_p/__init__.py" in standing(site).reason
    with pytest.raises(FerruleError, match="approved is what was installed"):
        trust("p", "--yes")


def test_r08_what_changed_of_a_distribution_is_a_change_of_all_that_it_offers(site, trust):
    points = {"ferrule.plugins:a": "acme_a", "ferrule.plugins:b": "acme_b"}
    site.add("acme-two", points, {"acme_a.py": "", "acme_b.py": ""})
    trust("acme-two", "--yes")
    assert [found.state for found in site.manager().standings] == ["active", "active"]
    (site.folder / "acme_b.py").write_text("x = 1\n")
    reasons = [found.reason for found in site.manager().standings]
    assert ["edited after installation: acme_b.py" in reason for reason in reasons] == [True, True]


def test_r08_a_file_edited_together_with_the_record_of_it_is_a_change(site, trust):
    info = site.add_hooks("guard", JUDGE)
    trust("guard", "--yes")
    standing(site)
    edited = site.add(
        "acme-guard", {}, {"acme_hooks_guard.py": "x = 2\n"}, folder=site.root / "new"
    )

    (site.folder / "acme_hooks_guard.py").write_text("x = 2\n")
    (info / "RECORD").write_text((edited / "RECORD").read_text())

    assert "contents differ in the same version" in standing(site).reason


@pytest.mark.parametrize(
    ("module", "added"),
    [
        ("acme_p.py", "acme_p/__init__.py"),
        ("acme_p.py", "acme_p.abi3.so"),
        ("acme_p/inner/__init__.py", "acme_p/inner/json.py"),
    ],
)
def test_r08_what_would_be_imported_instead_of_approved_code_is_a_change(
    site, trust, module, added
):
    target = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    site.add("acme-p", {"ferrule.plugins:p": target}, {module: "x = 1\n"})
    trust("p", "--yes")
    assert standing(site).state == "active"
    (site.folder / added).parent.mkdir(exist_ok=True)
    (site.folder / added).write_text("")
    assert f"edited after installation: {added}" in standing(site).reason


@pytest.mark.parametrize("digest", ["", "md5=x", None], ids=["none", "weak", "no record"])
def test_r08_what_no_digest_stands_for_cannot_be_approved(site, trust, digest):
    info = site.add_hooks("guard", JUDGE)
    record = info / "RECORD"
    if digest is None:
        record.unlink()
    else:
        record.write_text(f"acme_hooks_guard.py,{digest},\n")
    with pytest.raises(FerruleError, match="approved is what was installed"):
        trust("guard", "--yes")


def test_r08_a_longer_digest_is_compared_as_well(site, trust):
    info = site.add_hooks("guard", JUDGE)
    code = site.folder / "acme_hooks_guard.py"
    digest = base64.urlsafe_b64encode(hashlib.sha512(code.read_bytes()).digest()).rstrip(b"=")
    (info / "RECORD").write_text(f"{code.name},sha512={digest.decode()},\n")
    trust("guard", "--yes")
    assert standing(site).state == "active"
    code.write_text("x = 1")
    assert "edited after installation: acme_hooks_guard.py" in standing(site).reason


def test_r09_a_publisher_cannot_write_between_the_lines(site, trust):
    info = site.add_hooks("guard", JUDGE)
    metadata = info / "METADATA"
    forged = "Acme\x1b[2K\u202eYou approved it"
    metadata.write_text(metadata.read_text("utf-8").replace("Acme Corp", forged), "utf-8")
    assert r"by Acme\x1b[2K\u202eYou approved it, installed" in trust("guard", "--yes")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", '{"format": 9}', '{"format": 1, "approved": {"acme-guard": {}}}']
    + [
        '{"format": 1, "approved": {"acme-guard": {"version": "1.0", "record_hash": "",'
        f' "checkout": "", "when": "", "guards": false, "hooks": {hooks}}}}}'
        for hooks in ("{}", "[[]]")
    ],
)
def test_r08_approvals_that_cannot_be_read_count_as_changed_and_not_as_new(site, trust, text):
    site.add_hooks("guard", JUDGE)
    file = site.root / "home" / "approved-plugins.json"
    file.parent.mkdir()
    file.write_text(text)

    found = standing(site)

    assert found.state == "untrusted"
    assert f"{file} says what you approved and cannot be read" in found.reason
    with pytest.raises(FerruleError, match="mend the file, or remove it"):
        trust("guard", "--yes")
    assert file.read_text() == text


@pytest.mark.skipif(os.name != "posix", reason="who may write a file is told otherwise here")
def test_r08_approvals_that_somebody_else_may_write_are_not_believed(site, trust):
    site.add_hooks("guard", JUDGE)
    trust("guard", "--yes")
    (site.root / "home" / "approved-plugins.json").chmod(0o666)
    assert "somebody else may write it; mend the file" in standing(site).reason


def test_an_approval_of_a_checkout_covers_its_place_and_not_its_contents(
    site, trust, tmp_path, monkeypatch
):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    monkeypatch.syspath_prepend(str(checkout))
    info = site.add_hooks("guard", JUDGE)
    (site.folder / "acme_hooks_guard.py").rename(checkout / "acme_hooks_guard.py")
    url = f'{{"url": "{checkout.as_uri()}", "dir_info": {{"editable": true}}}}'
    (info / "direct_url.json").write_text(url)

    told = trust("guard", "--yes")

    assert f"An approval covers the place {checkout} and not its contents" in told
    with (checkout / "acme_hooks_guard.py").open("a") as file:
        file.write("# more\n")
    assert standing(site).state == "active"
    (info / "direct_url.json").unlink()
    site.index().path.unlink()
    assert "it is installed, it was from the checkout" in standing(site).reason


def test_r02_with_require_trust_nothing_of_others_is_imported_before_it_is_approved(
    site, trust, tmp_path
):
    ran = tmp_path / "ran"
    site.add_hooks("note", f"open({str(ran)!r}, 'a').close()\n")
    config = {"plugins": {"require_trust": True}}

    found = standing(site, config)

    assert found.state == "untrusted"
    assert "plugins.require_trust is set and nobody approved acme-note" in found.reason
    assert "ferrule plugins trust acme-note" in site.reports[0]
    assert not ran.exists()
    trust("note", "--yes", config=config)
    assert standing(site, config).state == "active"


def test_a_checkout_named_for_the_run_is_approved_by_its_place(site, tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    project = '[project]\nname = "acme-note"\nversion = "1"\n'
    points = '[project.entry-points."ferrule.plugins"]\nnote = "acme_note"\n'
    (checkout / "pyproject.toml").write_text(project + points)
    (checkout / "acme_note.py").write_text("")

    def found(**plugins):
        manager = site.manager({"plugins": plugins}, dev_plugins=(str(checkout),))
        return manager.standings[0]

    assert found().state == "active"
    strict = found(require_trust=True)
    assert strict.state == "untrusted"
    assert f"ferrule --dev-plugin {checkout} plugins trust acme-note" in strict.reason
    record_approval(strict.entry, (), "2026-01-01", site.environ)
    (checkout / "acme_note.py").write_text("x = 1\n")
    assert found(require_trust=True).state == "active"


def test_r10_a_hash_in_the_list_of_allowed_plugins_approves_what_it_names(site):
    site.add_hooks("note", LISTEN)
    (entry,) = site.index().all_entries()
    pin = {"name": "acme-note", "hash": entry.record_hash}
    assert standing(site, {"plugins": {"require_trust": True, "allow": [pin]}}).state == "active"
    unpinned = {"plugins": {"require_trust": True, "allow": ["acme-note"]}}
    assert standing(site, unpinned).state == "untrusted"


def verdicts(manager):
    return anyio.run(lambda: manager.hooks.assess("ferrule_tool_before", call=None, turn=None))


def test_r06_what_an_approved_guard_judged_is_refused_once_it_changed(site, trust):
    site.add_hooks("guard", JUDGE)
    trust("guard", "--yes")
    site.add_hooks("guard", LISTEN, version="1.1")

    manager = site.manager()

    assert "it is untrusted: changed since you approved it" in site.reports[0]
    (verdict,) = verdicts(manager).values()
    assert verdict.decision == "deny"
    assert "guards and cannot be used: changed since you approved it" in verdict.reason


def test_r06_a_listener_that_changed_leaves_no_gap(site, trust):
    site.add_hooks("note", LISTEN)
    trust("note", "--yes")
    site.add_hooks("note", LISTEN, version="1.1")
    manager = site.manager()
    assert standing(site).state == "untrusted"
    assert verdicts(manager) == {}


def test_r06_a_guard_that_was_approved_without_a_look_at_its_hooks_leaves_a_gap(site, trust):
    site.add_hooks("guard", JUDGE)
    trust("guard", "--yes", config={"plugins": {"disabled": ["guard"]}})
    site.add_hooks("guard", JUDGE, version="1.1")
    (verdict,) = verdicts(site.manager()).values()
    assert verdict.decision == "deny"


@pytest.mark.parametrize(("source", "is_denied"), [(JUDGE, True), (LISTEN, False)])
def test_r06_where_nobody_knows_what_was_approved_what_judges_leaves_a_gap(
    site, trust, source, is_denied
):
    site.add_hooks("guard", source)
    trust("guard", "--yes")
    (site.root / "home" / "approved-plugins.json").write_text("{")
    found = verdicts(site.manager())
    assert [verdict.decision for verdict in found.values()] == ["deny"] * is_denied


def test_r06_a_tool_that_was_never_looked_at_guards_nothing(site, tool_source):
    points = {"ferrule.tools:ticket": "acme_ticket:Ticket"}
    site.add("acme-ticket", points, {"acme_ticket.py": tool_source("ticket")})
    (entry,) = site.index().all_entries()
    record_approval(entry, (), "2026-01-01", site.environ)
    (entry,) = site.index().all_entries()
    assert entry.approval
    assert not is_guard(entry)


def test_r06_of_two_guards_of_one_name_each_denies(site):
    add_declared_guard(site)
    files = {"acme_zeta/__init__.py": JUDGE, "acme_zeta/ferrule.toml": "guards = true\n"}
    site.add("zeta", {"ferrule.plugins:declared": "acme_zeta"}, files)
    found = verdicts(site.manager({"plugins": {"allow": []}}))
    assert sorted(found) == ["declared", "declared of zeta"]


def add_declared_guard(site, source: str = JUDGE, **options):
    module = "acme_declared/__init__.py"
    files = {module: f"from ferrule_hookspecs import Verdict, hookimpl\n{source}"}
    files["acme_declared/ferrule.toml"] = "guards = true\n"
    site.add("acme-declared", {"ferrule.plugins:declared": "acme_declared"}, files, **options)


@pytest.mark.parametrize(
    ("plugins", "source", "requires", "is_denied"),
    [
        ({"allow": []}, JUDGE, "", True),
        ({"require_trust": True}, JUDGE, "", True),
        ({}, "raise ImportError('gone')", "", True),
        ({}, JUDGE, ">=9", True),
        ({}, JUDGE, "", False),
        ({"disabled": ["declared"]}, JUDGE, "", False),
        ({"block": ["acme-declared"]}, JUDGE, "", False),
        ({"block": ["acme-declared"], "required": ["declared"]}, JUDGE, "", True),
    ],
    ids=str,
)
def test_r06_a_gap_denies_and_a_decision_does_not(site, plugins, source, requires, is_denied):
    site.add_contract("1.0")
    add_declared_guard(site, source, requires=requires)
    found = verdicts(site.manager({"plugins": plugins}))
    assert is_denied == any(verdict.decision == "deny" for verdict in found.values())


def test_r06_a_guard_that_lost_its_name_denies_beside_the_plugin_that_has_it(site):
    holder = f"from ferrule_hookspecs import Verdict, hookimpl\n{JUDGE}"
    site.add("zeta", {"ferrule.plugins:declared": "acme_zeta"}, {"acme_zeta.py": holder})
    site.index()
    add_declared_guard(site)

    found = verdicts(site.manager())

    assert found["declared"].decision == "allow"
    denial = found["declared of acme-declared"]
    assert denial.decision == "deny"
    assert "belongs to zeta" in denial.reason


def test_r06_safe_mode_is_a_decision(site):
    add_declared_guard(site)
    assert verdicts(site.manager(FERRULE_SAFE_MODE="1")) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"acme-guard": {"version": "1.0"}}'])
def test_r08_records_of_origin_that_cannot_be_read_do_not_count_as_new(site, text):
    site.add_hooks("guard", JUDGE)
    file = site.root / "home" / "origins.json"
    file.parent.mkdir()
    file.write_text(text)
    (entry,) = site.index().all_entries()
    assert entry.changed.startswith(f"nobody knows: {file} cannot be read")
    assert file.read_text() == text


DECIDED = """\
# mine
[plugins]
disabled = [
  "acme-old",  # too slow
]
"""


@pytest.fixture
def decide(site, monkeypatch):
    """Run `ferrule plugins enable` or `disable` with a real configuration in the test's home."""
    monkeypatch.setattr(plugin_decisions, "load_index", lambda environ: site.index())
    home = site.root / "home"
    home.mkdir(exist_ok=True)
    host = LocalHost(home, site.environ)

    def decide(*words: str) -> str:
        result = CliRunner().invoke(plugins.app, words, obj=host, catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return decide


def test_a_plugin_is_disabled_and_enabled_with_comments_kept(site, decide):
    site.add_hooks("guard", JUDGE)
    site.add_hooks("old", JUDGE)
    file = site.root / "home" / "config.toml"
    file.write_text(DECIDED)

    assert f"guard: now in plugins.disabled of {file}" in decide("disable", "guard")
    assert file.read_text() == DECIDED.replace("slow\n", 'slow\n  "guard",\n')
    assert "disabled already" in decide("disable", "guard")
    assert "guard: no longer in plugins.disabled" in decide("enable", "acme-guard")
    assert file.read_text() == DECIDED
    assert "acme-old: no longer in plugins.disabled" in decide("enable", "old")
    assert "is not disabled" in decide("enable", "old")


def test_a_required_plugin_is_not_disabled_and_a_misspelt_name_is_guessed(site, decide):
    site.add_hooks("guard", JUDGE)
    file = site.root / "home" / "config.toml"
    text = '[plugins]\nrequired = ["guard"]\n'
    file.write_text(text)
    with pytest.raises(FerruleError, match=rf"is required by the configuration \({file}\)"):
        decide("disable", "acme-guard")
    assert file.read_text() == text
    with pytest.raises(FerruleError, match="Did you mean 'guard'"):
        decide("disable", "gaurd")


def test_a_plugin_that_is_enabled_and_still_not_used_says_why(site, decide):
    site.add_hooks("guard", JUDGE)
    file = site.root / "home" / "config.toml"
    file.write_text('[plugins]\ndisabled = ["guard"]\nblock = ["acme-guard"]\n')
    assert "guard is blocked: listed in plugins.block" in decide("enable", "guard")
