"""Hooks that change while a session is open count from the next turn on, as far as trusted."""

from __future__ import annotations

import pytest

from ferrule_hooks.sources import read_handlers
from ferrule_hooks.trust import TrustRules

pytestmark = pytest.mark.anyio
READ_ANEW = "the hooks have changed; they were read anew and count from this turn on"


async def begin_turn(place, plugin):
    await plugin.ferrule_context_updates(place.context(), {})


def trust(place):
    TrustRules(place.context()).store.add(read_handlers(place.context()))


async def test_hooks_that_appear_run_from_the_next_turn_on(place, hook, bash):
    async with place.session() as plugin:
        assert (await place.before(bash("ls")))[1] is None
        place.write("home", {"PreToolUse": [hook("echo no >&2; exit 2", "Bash")]})

        await begin_turn(place, plugin)

        assert (await place.before(bash("ls", "c2")))[1].decision == "deny"
        assert READ_ANEW in place.warnings


async def test_hooks_that_go_do_not_run_any_more(place, hook, bash):
    file = place.write("home", {"PreToolUse": [hook("echo no >&2; exit 2", "Bash")]})
    async with place.session() as plugin:
        assert (await place.before(bash("ls")))[1].decision == "deny"
        file.unlink()

        await begin_turn(place, plugin)

        assert (await place.before(bash("ls", "c2")))[1] is None


async def test_a_new_text_that_nobody_trusts_does_not_run_and_what_it_guards_is_refused(
    place, hook, bash, tmp_path
):
    place.is_bypassed = False
    place.write("home", {"PreToolUse": [hook("true", "Bash")]})
    trust(place)
    ran = tmp_path / "ran"
    async with place.session() as plugin:
        assert (await place.before(bash("ls")))[1] is None
        place.write("home", {"PreToolUse": [hook(f"touch {ran}", "Bash")]})
        await begin_turn(place, plugin)

        verdict = (await place.before(bash("ls", "c2")))[1]

        assert verdict.decision == "deny"
        assert "has changed since it was trusted" in verdict.reason
        assert not ran.exists()
        assert any("are not trusted" in warning for warning in place.warnings)
        trust(place)
        await begin_turn(place, plugin)
        assert (await place.before(bash("ls", "c3")))[1] is None
        assert ran.exists()


async def test_a_file_that_cannot_be_read_leaves_its_hooks_in_force(place, hook, bash):
    file = place.write("home", {"PreToolUse": [hook("echo no >&2; exit 2", "Bash")]})
    async with place.session() as plugin:
        file.write_text('{"hooks": {"PreToolUse": [')

        await begin_turn(place, plugin)

        assert (await place.before(bash("ls")))[1].decision == "deny"
        assert any("cannot be read" in warning for warning in place.warnings)


async def test_nothing_is_read_again_while_nothing_changes(place, hook):
    place.write("home", {"PreToolUse": [hook("true", "Bash")]})
    async with place.session() as plugin:
        said = list(place.warnings)
        await begin_turn(place, plugin)
        await begin_turn(place, plugin)
        assert place.warnings == said
