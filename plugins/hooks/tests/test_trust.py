"""A hook runs only once its very definition is trusted."""

from __future__ import annotations

import json

import pytest

from ferrule_hooks.sources import read_handlers
from ferrule_hooks.trust import TrustFileError, TrustRules

pytestmark = pytest.mark.anyio


@pytest.fixture
def untrusted(place):
    place.is_bypassed = False
    return place


def state(place):
    (handler,) = read_handlers(place.context())
    return TrustRules(place.context()).state(handler)


def trust(place):
    TrustRules(place.context()).store.add(read_handlers(place.context()))


@pytest.mark.parametrize(
    ("event", "matcher", "hook", "hash_"),
    [
        (
            "PreToolUse",
            "Bash",
            {"type": "command", "command": "echo hi"},
            "3bbce6504b48cc6f0d7fe24bd36273633d1bfa5879bc87f4ed7ccd16f24d1415",
        ),
        (
            "PreToolUse",
            "Bash",
            {
                "type": "command",
                "command": 'echo é "x"',
                "timeout": 5,
                "statusMessage": "m",
                "async": True,
            },
            "fa90d0dc609dc4c342cfd1185b0230a7fe0c7518ed8c934eb50aec0fee3c1497",
        ),
        (
            "Stop",
            None,
            {"type": "command", "command": "true"},
            "2ba34c7a02841fada06b868a093d041fd3d9de81883c789a321916b0aa118851",
        ),
    ],
)
def test_the_hash_is_the_one_codex_computes(untrusted, event, matcher, hook, hash_):
    group = {"hooks": [hook]} if matcher is None else {"matcher": matcher, "hooks": [hook]}
    file = untrusted.write("home", {event: [group]})
    (handler,) = read_handlers(untrusted.context())
    assert handler.definition_hash() == f"sha256:{hash_}"
    assert state(untrusted) == "untrusted"

    noted = {f"{file}:{handler.facts.label}:0:0": {"trusted_hash": f"sha256:{hash_}"}}
    untrusted.config = {"hooks": {"state": noted}}
    assert state(untrusted) == "trusted"


def test_codex_may_have_switched_a_hook_off(untrusted, hook):
    file = untrusted.write("home", {"Stop": [hook("x")]})
    trust(untrusted)
    untrusted.config = {"hooks": {"state": {f"{file}:stop:0:0": {"enabled": False}}}}
    assert state(untrusted) == "off"


@pytest.mark.parametrize("where", ["home", "ws/.ferrule"])
def test_a_changed_definition_is_not_trusted_again(untrusted, hook, where):
    untrusted.write(where, {"Stop": [hook("one")]})
    assert state(untrusted) == "untrusted"
    trust(untrusted)
    assert state(untrusted) == "trusted"

    untrusted.write(where, {"Stop": [hook("two")]})
    assert state(untrusted) == "changed"
    untrusted.write(where, {"Stop": [hook("one")]})
    assert state(untrusted) == "trusted"


def test_trust_is_given_to_one_file_only(untrusted, hook):
    untrusted.write("home", {"Stop": [hook("one")]})
    trust(untrusted)
    (untrusted.home / "hooks.json").unlink()
    untrusted.write("ws/.ferrule", {"Stop": [hook("one")]})
    assert state(untrusted) == "untrusted"


def test_hooks_that_move_within_their_file_stay_trusted(untrusted, hook):
    untrusted.write("home", {"Stop": [hook("one")]})
    trust(untrusted)
    untrusted.write("home", {"Stop": [hook("new"), hook("one")]})
    new, one = read_handlers(untrusted.context())
    rules = TrustRules(untrusted.context())
    assert (rules.state(new), rules.state(one)) == ("changed", "trusted")


def test_hooks_of_the_administrator_need_no_trust(untrusted, hook):
    untrusted.write("admin", {"Stop": [hook("x")]})
    assert state(untrusted) == "trusted"


@pytest.mark.parametrize("text", ["allow_managed_hooks_only = true", "broken ["])
def test_the_administrator_may_allow_no_other_hooks(place, hook, text):
    (place.folder / "admin" / "requirements.toml").write_text(text)
    place.write("home", {"Stop": [hook("x")]})
    assert state(place) == "off"


async def test_the_administrator_s_ban_is_said(place, hook):
    (place.folder / "admin" / "requirements.toml").write_text("allow_managed_hooks_only = true")
    place.write("home", {"Stop": [hook("touch ran")]})
    async with place.session() as plugin:
        assert await plugin.ferrule_turn_stop(place.turn(), "done") is None
    assert any("allow_managed_hooks_only" in warning for warning in place.warnings)
    assert not (place.ws / "ran").exists()


def test_a_broken_file_of_trust_is_an_error(untrusted, hook):
    untrusted.write("home", {"Stop": [hook("x")]})
    (untrusted.home / "hooks-trust.json").write_text("{")
    with pytest.raises(TrustFileError, match="no hook is trusted"):
        state(untrusted)


@pytest.mark.parametrize("where", ["home", "ws/.ferrule"])
async def test_an_untrusted_guard_refuses_what_it_would_have_judged(untrusted, hook, bash, where):
    file = untrusted.write(where, {"PreToolUse": [hook("touch ran", "Bash")]})
    async with untrusted.session():
        _, verdict = await untrusted.before(bash("ls"))
    assert verdict.decision == "deny"
    assert "is not trusted" in verdict.reason
    assert "ferrule hooks trust" in verdict.reason
    assert not (untrusted.ws / "ran").exists()
    (warning,) = untrusted.warnings
    assert str(file) in warning
    assert "touch ran" in warning


async def test_an_untrusted_guard_of_other_tools_refuses_nothing(untrusted, hook, bash):
    untrusted.write("home", {"PreToolUse": [hook("touch ran", "Edit|Write")]})
    async with untrusted.session():
        assert (await untrusted.before(bash("ls")))[1] is None


async def test_an_untrusted_watcher_is_only_named(untrusted, hook):
    untrusted.write("home", {"Stop": [hook("touch ran")]})
    async with untrusted.session() as plugin:
        assert await plugin.ferrule_turn_stop(untrusted.turn(), "done") is None
    assert "do not run: " in untrusted.warnings[0]


async def test_trust_that_cannot_be_read_refuses_calls(untrusted, hook, bash):
    untrusted.write("home", {"PreToolUse": [hook("true")]})
    (untrusted.home / "hooks-trust.json").write_text("{")
    from ferrule_hooks import plugin

    with pytest.raises(TrustFileError):
        await plugin.ferrule_session_start(untrusted.context(), "startup")
    with pytest.raises(TrustFileError):  # which the kernel takes for a refusal
        await plugin.ferrule_tool_before(bash("ls"), untrusted.turn(), untrusted.context())


async def test_a_script_of_the_project_that_changes_is_not_run_again(untrusted, hook, bash):
    script = untrusted.script("guard.sh", "touch ran")
    untrusted.write("ws/.ferrule", {"PreToolUse": [hook("./guard.sh > log.txt")]})
    trust(untrusted)
    async with untrusted.session():
        assert (await untrusted.before(bash("ls")))[1] is None
        (untrusted.ws / "ran").unlink()
        script.write_text("#!/bin/sh\ntouch ran\nsteal secrets\n")
        verdict = (await untrusted.before(bash("ls")))[1]
        assert verdict.decision == "deny"
        assert "has changed since it was trusted" in verdict.reason
    assert not (untrusted.ws / "ran").exists()


async def test_a_script_of_the_project_that_appears_is_not_run(untrusted, hook):
    untrusted.write("ws/.ferrule", {"Stop": [hook("if test -e x.sh; then ./x.sh; fi")]})
    trust(untrusted)
    async with untrusted.session() as plugin:
        assert await plugin.ferrule_turn_stop(untrusted.turn(), "done") is None
        untrusted.script("x.sh", "touch ran")
        assert await plugin.ferrule_turn_stop(untrusted.turn(), "done") is None
    assert not (untrusted.ws / "ran").exists()
    assert "has changed since it was trusted" in untrusted.warnings[0]


def test_what_a_hook_writes_is_not_part_of_its_trust(untrusted, hook):
    (untrusted.ws / "log.txt").write_text("1")
    untrusted.write("ws/.ferrule", {"Stop": [hook("echo x >> log.txt")]})
    trust(untrusted)
    (untrusted.ws / "log.txt").write_text("2")
    assert state(untrusted) == "trusted"


class TestCommand:
    def configure(self, ferrule_home, hook):
        file = ferrule_home.path / "hooks.json"
        hooks = {"PreToolUse": [hook("python3 check.py", "Bash", on_error="allow", timeout=3)]}
        file.write_text(json.dumps({"hooks": hooks}))
        return file

    def test_words_say_what_will_run(self, ferrule_home, run_ferrule, hook):
        file = self.configure(ferrule_home, hook)
        finished = run_ferrule("hooks", "list")
        assert finished.returncode == 0
        assert "Before a tool runs (Bash): NOT TRUSTED, does not run" in finished.stdout
        assert "runs python3 check.py" in finished.stdout
        assert "outside of the sandbox, with your rights" in finished.stdout
        assert f"from {file}: PreToolUse[0].hooks[0]" in finished.stdout

    def test_trust_and_untrust(self, ferrule_home, run_ferrule, hook):
        self.configure(ferrule_home, hook)

        def shown():
            (row,) = json.loads(run_ferrule("hooks", "list", "--json").stdout)
            return row["state"]

        assert shown() == "untrusted"
        trusted = run_ferrule("hooks", "trust", "1")
        assert "trusted now and will run" in trusted.stdout
        assert shown() == "trusted"
        assert run_ferrule("hooks", "untrust", "--all").returncode == 0
        assert shown() == "untrusted"

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (["trust", "7"], 1, "there is no hook 7"),
            (["trust"], 1, "their numbers, or --all"),
            (["trut"], 2, "not understood"),
            (["trust", "--al"], 2, "not understood"),
        ],
    )
    def test_wrong_usage_is_named(self, run_ferrule, words, code, said):
        finished = run_ferrule("hooks", *words)
        assert finished.returncode == code
        assert said in finished.stderr
