"""What configuration and policy say about plugins, and how clashes and order are settled."""

from __future__ import annotations

import random

import anyio
import pytest

from ferrule.config.load import Places, read_config
from ferrule.entry import Entry, Probe
from ferrule.order import declared_order
from ferrule.versions import satisfies
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigRequest

GUARD = "@hookimpl\ndef ferrule_tool_before(call):\n    return Verdict.allow()\n"


@pytest.mark.parametrize(
    ("required", "fault"),
    [
        ("guard", None),
        ("acme-guard", None),
        ("acme_guard>=1.0", None),
        ("absent", "'absent' is not installed"),
        ("acme-guard>=1.2", "version 1.0 only; upgrade acme-guard"),
        ("broken", "it is broken: ImportError"),
        ("blocked", "it is blocked"),
        ("unlisted", "it is untrusted"),
        ("ancient", "it is incompatible"),
        ("switched", "it is disabled"),
    ],
)
def test_r05_a_required_plugin_that_cannot_be_relied_on_stops_the_run(site, required, fault):
    site.add_contract("1.0")
    site.add_hooks("guard", GUARD)
    site.add_hooks("broken", "raise ImportError('gone')")
    site.add_hooks("blocked", GUARD)
    site.add_hooks("unlisted", GUARD)
    site.add_hooks("ancient", GUARD, requires="<1")
    site.add_hooks("switched", GUARD)
    names = ["acme-guard", "acme-broken", "acme-ancient", "acme-switched"]
    plugins = {
        "required": [required],
        "allow": names,
        "block": ["acme-blocked"],
        "disabled": ["switched"],
    }
    faults = site.manager({"plugins": plugins}).required_missing()
    assert len(faults) == (fault is not None)
    assert fault is None or fault in faults[0]


def test_r05_a_required_name_that_nobody_holds_stops_the_run(site):
    for name in ("one", "two"):
        points = {"ferrule.sandboxes:none": f"acme_{name}:Box"}
        site.add(f"acme-{name}", points, {f"acme_{name}.py": DRIVER})
    (fault,) = site.manager({"plugins": {"required": ["none"]}}).required_missing()
    assert "it is clash" in fault


@pytest.mark.parametrize("spelt", ["acme-guard", "Acme_Guard", "acme.guard", "acme__guard"])
def test_a_distribution_is_disabled_however_it_is_spelt(site, spelt):
    site.add_hooks("guard", GUARD)
    assert site.manager({"plugins": {"disabled": [spelt]}}).usable() == []


def test_r06_what_an_untrusted_required_guard_would_have_judged_is_denied_and_announced(site):
    site.add_hooks("guard", GUARD)
    manager = site.manager({"plugins": {"required": ["guard"], "allow": []}})
    verdicts = anyio.run(lambda: manager.hooks.assess("ferrule_tool_before", call=None, turn=None))
    assert verdicts["guard"].decision == "deny"
    assert "acme-guard is not listed in plugins.allow" in verdicts["guard"].reason
    assert "it is untrusted" in site.reports[0]


def test_r06_an_untrusted_guard_that_nobody_requires_is_announced(site):
    site.add_hooks("guard", GUARD)
    manager = site.manager({"plugins": {"allow": []}})
    assert "it is untrusted" in site.reports[0]
    assert manager.required_missing() == []


def test_r10_the_policy_allows_by_name_version_and_hash(site):
    site.add_hooks("guard", GUARD)
    (entry,) = site.index().all_entries()
    good = {"name": "acme-guard", "version": "1.0", "hash": entry.record_hash}

    def is_allowed(**change: str) -> bool:
        manager = site.manager({"plugins": {"allow": [{**good, **change}]}})
        return manager.names("ferrule.plugins") == ["guard"]

    assert is_allowed()
    assert is_allowed(version=">=1,<2")
    assert not is_allowed(name="acme-other")
    assert not is_allowed(version="1.1")
    assert not is_allowed(hash="sha256:" + "0" * 64)
    (site.folder / "acme_hooks_guard.py").write_text("x = 1")
    assert not is_allowed()
    assert "files of acme-guard were changed: acme_hooks_guard.py" in site.reports[-1]


def test_r10_a_block_wins_over_an_allowance(site):
    site.add_hooks("guard", GUARD)
    manager = site.manager({"plugins": {"allow": ["acme-guard"], "block": ["acme-guard<1.1"]}})
    assert manager.names("ferrule.plugins") == []


@pytest.mark.parametrize(
    "plugins",
    [{"allow": "acme"}, {"block": [{}]}, {"required": "x"}, [], {"overrides": []}],
    ids=str,
)
def test_a_policy_that_cannot_be_obeyed_is_an_error_not_a_default(site, plugins):
    with pytest.raises(ConfigError, match="plugins"):
        site.manager({"plugins": plugins})


DRIVER = "class Box:\n    def __init__(self, context): ...\n"


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "stranger first"])
def test_r11_a_built_in_name_is_reserved_whatever_the_order_of_installation(site, ours_first):
    def add_ours():
        site.add(
            "ferrule-sandbox-none",
            {"ferrule.sandboxes:none": "acme_ours:Box"},
            {"acme_ours.py": DRIVER},
        )

    def add_stranger():
        site.add("acme-box", {"ferrule.sandboxes:none": "acme_evil:Box"}, {"acme_evil.py": DRIVER})

    for add in (add_ours, add_stranger) if ours_first else (add_stranger, add_ours):
        add()
        site.index()
    driver = site.manager().driver("ferrule.sandboxes", "none", site.context)
    assert type(driver).__module__ == "acme_ours"
    (report,) = site.reports
    assert "the name ferrule.sandboxes:none belongs to ferrule-sandbox-none" in report
    assert 'plugins.overrides = {"ferrule.sandboxes:none" = "acme-box"}' in report


def test_r11_a_reserved_name_stays_reserved_where_ours_is_not_installed(site):
    site.add("acme-box", {"ferrule.sandboxes:none": "acme_evil2:Box"}, {"acme_evil2.py": DRIVER})
    assert site.manager().names("ferrule.sandboxes") == []


def test_r11_one_line_that_names_both_lets_another_take_the_name(site):
    site.add(
        "ferrule-sandbox-none",
        {"ferrule.sandboxes:none": "acme_ours3:Box"},
        {"acme_ours3.py": DRIVER},
    )
    site.add("acme-box", {"ferrule.sandboxes:none": "acme_chosen:Box"}, {"acme_chosen.py": DRIVER})
    manager = site.manager({"plugins": {"overrides": {"ferrule.sandboxes:none": "acme_box"}}})
    driver = manager.driver("ferrule.sandboxes", "none", site.context)
    assert type(driver).__module__ == "acme_chosen"


def test_r11_of_two_strangers_the_newcomer_is_disabled(site):
    site.add("zeta-box", {"ferrule.sandboxes:box": "acme_zeta:Box"}, {"acme_zeta.py": DRIVER})
    site.index()
    site.add("alpha-box", {"ferrule.sandboxes:box": "acme_alpha:Box"}, {"acme_alpha.py": DRIVER})
    manager = site.manager()
    assert type(manager.driver("ferrule.sandboxes", "box", site.context)).__module__ == "acme_zeta"
    assert "belongs to zeta-box" in site.reports[0]


def entry(name: str, **order) -> Entry:
    return Entry(
        "ferrule.plugins", name, name, f"dist-{name}", "1", "", probe=Probe(ok=True, **order)
    )


def test_r12_declared_order_does_not_depend_on_the_order_of_installation():
    plugins = [
        entry("audit", is_outermost=True),
        entry("alpha", after=("zeta",)),
        entry("beta"),
        entry("gamma", before=("beta",)),
        entry("zeta", after=("dist-gamma",)),
    ]
    orders = set()
    for seed in range(100):
        random.Random(seed).shuffle(plugins)
        orders.add(tuple(plugin.name for plugin in declared_order(plugins)))
    assert orders == {("audit", "gamma", "beta", "zeta", "alpha")}


def test_r12_a_circle_is_named_and_broken_at_one_wish_only():
    reports: list[str] = []
    plugins = [
        entry("a", before=("b",)),
        entry("b", before=("c",)),
        entry("c", before=("a",)),
        entry("d", before=("a",)),
    ]
    found = [plugin.name for plugin in declared_order(plugins, reports.append)]
    assert found == ["d", "a", "b", "c"]
    assert len(reports) == 1
    assert "'c' comes before 'a'" in reports[0]


def test_r12_order_is_read_from_the_module(site):
    hook = "@hookimpl\ndef ferrule_context_fragments(context):\n    return [__name__]\n"
    site.add_hooks("first", hook + "FERRULE_ORDER = {'after': ['second']}\n")
    site.add_hooks("second", hook)
    hooks = site.manager().hooks
    answers = anyio.run(lambda: hooks.gather("ferrule_context_fragments", context=site.context))
    assert [name for name, _ in answers] == ["second", "first"]


@pytest.mark.parametrize(
    ("version", "specifier", "fits"),
    [
        ("1.2", "", True),
        ("1.2", ">=1.2,<2", True),
        ("2.0", ">=1.2,<2", False),
        ("1.2.5", "~=1.2.0", True),
        ("1.3.0", "~=1.2.0", False),
        ("1.9", "~=1.2", True),
        ("1.2", "==1.2.0", True),
        ("1.2.3", "==1.2.*", True),
        ("1.2.3", "!=1.2.*", False),
        ("2.0rc1", ">=2.0", False),
        ("2.0", ">2.0rc1", True),
        ("10.0", ">9", True),
        ("1.0.post1", "==1.0", False),
        ("1.0.post1", ">1.0", False),
        ("1.0.post2", ">1.0.post1", True),
        ("1.0.post1", ">=1.0,<1.1", True),
        ("1.0+local", "==1.0", True),
    ],
)
def test_versions_compare_as_the_packaging_standard_says(version, specifier, fits):
    assert satisfies(version, specifier) is fits


@pytest.mark.parametrize(
    ("version", "specifier"),
    [("one", ">=1"), ("1", "latest"), ("1", "~=1"), ("1", ">="), ("1!1.0", "<2"), ("1", ">=0!1")],
)
def test_a_version_that_cannot_be_read_raises(version, specifier):
    with pytest.raises(ValueError, match=r"version|numbers"):
        satisfies(version, specifier)


@pytest.fixture
def administered(site, tmp_path):
    """Read the configuration with an administrator's `requirements.toml`, as a session does."""

    def administered(requirements: str, user: str) -> dict[str, object]:
        home, admin, cwd = site.root / "home", tmp_path / "admin", tmp_path / "work"
        for folder in (home, admin, cwd):
            folder.mkdir(exist_ok=True)
        (admin / "requirements.toml").write_text(requirements)
        (home / "config.toml").write_text(user)
        places = Places(home, site.environ, admin=admin)
        return dict(read_config(ConfigRequest(cwd=str(cwd)), places).values)

    return administered


def test_r10_the_administrator_s_rules_hold_whatever_the_user_says(site, administered):
    for name in ("listed", "more", "banned"):
        site.add_hooks(name, GUARD)
    (entry,) = [e for e in site.index().all_entries() if e.name == "listed"]
    pin = f'{{name = "acme-listed", version = ">=1", hash = "{entry.record_hash}"}}'
    values = administered(
        f'[plugins]\nallow = [{pin}, "acme-banned"]\nblock = ["acme-banned"]\n'
        "require_trust = true\n",
        '[plugins]\nallow = ["acme-listed", "acme-more", "acme-banned"]\nrequire_trust = false\n',
    )
    states = {s.entry.name: s.state for s in site.manager(values).standings}
    assert states == {"listed": "active", "more": "untrusted", "banned": "blocked"}


def test_r10_the_administrator_may_leave_the_choice_to_approvals(site, administered):
    site.add_hooks("more", GUARD)
    values = administered("[plugins]\nrequire_trust = true\n", "[plugins]\nrequire_trust = false\n")
    (standing,) = site.manager(values).standings
    assert "plugins.require_trust is set and nobody approved acme-more" in standing.reason


@pytest.mark.parametrize(("value", "state"), [("true", "untrusted"), ("false", "active")])
def test_r10_a_project_may_ask_for_more_trust_and_never_for_less(site, tmp_path, value, state):
    site.add_hooks("more", GUARD)
    cwd = tmp_path / "work"
    (cwd / ".ferrule").mkdir(parents=True)
    (cwd / ".git").mkdir()
    (cwd / ".ferrule" / "config.toml").write_text(f"[plugins]\nrequire_trust = {value}\n")
    home = site.root / "home"
    home.mkdir()

    def standing(user: str):
        (home / "config.toml").write_text(f'[projects."{cwd}"]\ntrust_level = "trusted"\n{user}')
        places = Places(home, site.environ, admin=tmp_path / "admin")
        values = dict(read_config(ConfigRequest(cwd=str(cwd)), places).values)
        return site.manager(values).standings[0].state

    assert standing("") == state
    assert standing("[plugins]\nrequire_trust = true\n") == "untrusted"
