"""How hooks are called: deadlines, faults, combination, order."""

from __future__ import annotations

import inspect
import subprocess
import sys

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.dispatcher import strictest
from ferrule_hookspecs import hooks as hooks_module
from ferrule_hookspecs import markers
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.review import Verdict

HOOKS = sorted(name for name in markers.HOOK_CONTRACTS if hasattr(hooks_module, name))
DECISIONS = ["allow", "ask", "deny"]
VERDICTS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.builds(Verdict, st.sampled_from(DECISIONS), st.text(max_size=3), st.text(max_size=3)),
    max_size=8,
)


@given(VERDICTS, st.randoms())
def test_r13_the_most_restrictive_verdict_wins_whatever_the_order(verdicts, random):
    items = list(verdicts.items())
    random.shuffle(items)
    combined = strictest(verdicts)
    assert strictest(dict(items)) == combined
    worst = max((DECISIONS.index(v.decision) for v in verdicts.values()), default=0)
    assert DECISIONS.index(combined.decision) == worst


@given(VERDICTS, VERDICTS)
def test_r13_another_plugin_never_widens_what_is_allowed(verdicts, more):
    before = DECISIONS.index(strictest(verdicts).decision)
    assert DECISIONS.index(strictest({**more, **verdicts}).decision) >= before


@pytest.fixture
def short(monkeypatch):
    """Deadlines short enough to await in a test."""
    for name, contract in markers.HOOK_CONTRACTS.items():
        monkeypatch.setitem(markers.HOOK_CONTRACTS, name, markers.HookContract(contract.kind, 1))


BEFORE = "@hookimpl\n{prefix}def ferrule_tool_before(call):\n    {body}\n"


def assess(site, **bodies: tuple[str, str]) -> dict[str, Verdict]:
    for name, (prefix, body) in bodies.items():
        site.add_hooks(name, BEFORE.format(prefix=prefix, body=body))
    hooks = site.manager().hooks
    return anyio.run(lambda: hooks.assess("ferrule_tool_before", call=None, turn=None))


def test_r15_slow_raising_and_async_plugins_are_called_together(site, short):
    verdicts = assess(
        site,
        asking=("async ", "return Verdict.ask('sure?')"),
        raising=("", "raise ValueError('bad')"),
        async_raising=("async ", "raise KeyError('bad')"),
        exiting=("", "raise SystemExit(3)"),
        async_exiting=("async ", "raise SystemExit(3)"),
        cancelling=("async ", "import asyncio; raise asyncio.CancelledError"),
        slow=("", "import threading; threading.Event().wait()"),
        async_slow=("async ", "import anyio; await anyio.sleep_forever()"),
        wrong=("", "return True"),
        silent=("", "return None"),
        allowing=("", "return Verdict.allow()"),
    )
    assert {name: v.decision for name, v in verdicts.items()} == {
        "allowing": "allow",
        "asking": "ask",
        **dict.fromkeys(
            [
                "raising",
                "async_raising",
                "exiting",
                "async_exiting",
                "cancelling",
                "slow",
                "async_slow",
                "wrong",
            ],
            "deny",
        ),
    }
    assert "hook ferrule_tool_before did not answer within 1 s" in verdicts["slow"].reason
    assert "plugin 'raising' (acme-raising 1.0, " in verdicts["raising"].reason
    assert len(site.reports) == 8


def test_a_verdict_that_cannot_be_read_is_a_refusal_of_its_plugin(site):
    verdicts = assess(
        site,
        listed=("", "return Verdict(['allow'])"),
        unknown=("", "return Verdict('maybe')"),
        unsaid=("", "return Verdict('deny', None)"),
        denying=("", "return Verdict.deny('no')"),
    )
    assert {verdict.decision for verdict in verdicts.values()} == {"deny"}
    assert all("acme-" in verdicts[name].reason for name in ("listed", "unknown"))
    assert len(site.reports) == 2
    del verdicts["listed"], verdicts["unknown"]
    assert strictest(verdicts).decision == "deny"


PATIENT = """
from ferrule_hookspecs.markers import patient
@hookimpl
@patient({seconds})
async def ferrule_tool_before(call):
    import anyio
    await anyio.sleep({needed})
    return Verdict.allow("waited")
"""


def test_a_patient_implementation_has_its_own_deadline(site, short):
    site.add_hooks("waiting", PATIENT.format(seconds=120, needed=1.2))
    site.add_hooks("hanging", PATIENT.format(seconds=0.5, needed=3600))
    hooks = site.manager().hooks
    verdicts = anyio.run(lambda: hooks.assess("ferrule_tool_before", call=None, turn=None))
    assert verdicts["waiting"] == Verdict.allow("waited")
    assert "did not answer within 0.5" in verdicts["hanging"].reason


def test_r15_a_fault_is_reported_once_with_origin_cause_and_mend(site):
    site.add_hooks("watch", "@hookimpl\ndef ferrule_turn_start():\n    raise ValueError('boom')\n")
    hooks = site.manager().hooks

    async def twice():
        await hooks.observe("ferrule_turn_start", turn=None)
        await hooks.observe("ferrule_turn_start", turn=None)

    anyio.run(twice)
    (report,) = site.reports
    assert report == (
        f"plugin 'watch' (acme-watch 1.0, {site.folder}/acme_hooks_watch.py): "
        "hook ferrule_turn_start raised ValueError: boom; "
        "update or uninstall acme-watch, or go on without it: --no-plugin watch"
    )


def test_r15_a_failing_observer_does_not_skip_the_others(site, tmp_path):
    touch = f"__import__('pathlib').Path({str(tmp_path / 'seen')!r}).touch()"
    site.add_hooks("a", "@hookimpl\ndef ferrule_turn_start():\n    raise ValueError\n")
    site.add_hooks("b", f"@hookimpl\nasync def ferrule_turn_start(turn):\n    {touch}\n")
    hooks = site.manager().hooks
    anyio.run(lambda: hooks.observe("ferrule_turn_start", turn=None))
    assert (tmp_path / "seen").exists()


def test_a_guard_that_cannot_be_imported_any_more_denies(site):
    site.add_hooks("guard", BEFORE.format(prefix="", body="return Verdict.allow()"))
    manager = site.manager()
    (site.folder / "acme_hooks_guard.py").write_text("raise ImportError('gone')")
    verdicts = anyio.run(lambda: manager.hooks.assess("ferrule_tool_before", call=None, turn=None))
    assert verdicts["guard"].decision == "deny"
    assert "gone" in verdicts["guard"].reason


def test_a_hook_that_still_hangs_is_not_started_again(site, short, tmp_path):
    log = tmp_path / "calls"
    body = f"with open({str(log)!r}, 'a') as log: log.write('x')\n"
    body += "    __import__('threading').Event().wait()"
    site.add_hooks("slow", BEFORE.format(prefix="", body=body))
    hooks = site.manager().hooks

    async def thrice():
        return [await hooks.assess("ferrule_tool_before", call=None, turn=None) for _ in range(3)]

    found = anyio.run(thrice)
    assert [verdicts["slow"].decision for verdicts in found] == ["deny"] * 3
    assert log.read_text() == "x"


def test_calls_at_the_same_time_do_not_disturb_each_other(site):
    site.add_hooks("guard", BEFORE.format(prefix="", body="return Verdict.ask(call)"))
    hooks = site.manager().hooks
    reasons = []

    async def ask(number):
        verdicts = await hooks.assess("ferrule_tool_before", call=str(number), turn=None)
        reasons.append(verdicts["guard"].reason)

    async def many():
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(ask, number)

    anyio.run(many)
    assert sorted(reasons, key=int) == [str(number) for number in range(20)]


def test_cancelling_the_caller_ends_a_call_at_once(site):
    site.add_hooks(
        "slow",
        "import anyio as a\n"
        "@hookimpl\nasync def ferrule_turn_start():\n    await a.sleep_forever()\n",
    )
    hooks = site.manager().hooks

    async def main():
        with anyio.move_on_after(0.2) as scope:
            await hooks.observe("ferrule_turn_start", turn=None)
        return scope.cancelled_caught

    assert anyio.run(main)
    assert site.reports == []


def test_a_hook_that_hangs_in_a_thread_does_not_keep_the_process_from_exiting(site):
    body = "import time\n    print('called', flush=True)\n    time.sleep(1000)"
    site.add_hooks("slow", "@hookimpl\ndef ferrule_turn_start():\n    " + body + "\n")
    site.manager()
    code = f"""
import anyio
from ferrule.index import build_index
from ferrule.manager import PluginManager
from ferrule_hookspecs import hooks, markers
markers.HOOK_CONTRACTS["ferrule_turn_start"] = markers.HookContract("observe", 2)
index = build_index([{str(site.folder)!r}], {site.environ!r})
manager = PluginManager(index, {{}}, report=print)
anyio.run(lambda: manager.hooks.observe("ferrule_turn_start", turn=None))
"""
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert finished.stdout.startswith("called\n")
    assert "did not answer within 2 s" in finished.stdout


def test_answers_are_gathered_in_declared_order_with_faults_and_silence_left_out(site):
    hook = "@hookimpl\ndef ferrule_turn_stop(last_message):\n    "
    site.add_hooks("b", hook + "return last_message\n")
    site.add_hooks("a", hook + "return ['as', 'it', 'is']\n")
    site.add_hooks("c", hook + "raise ValueError\n")
    site.add_hooks("d", hook + "return None\n")
    hooks = site.manager().hooks
    answers = anyio.run(lambda: hooks.gather("ferrule_turn_stop", turn=None, last_message="m"))
    assert answers == [("a", ["as", "it", "is"]), ("b", "m")]


def test_calling_some_of_the_plugins_leaves_the_order_of_all_to_be_found(site):
    hook = "@hookimpl\ndef ferrule_turn_stop(last_message):\n    return last_message\n"
    for name in ("a", "b", "c"):
        site.add_hooks(name, hook + ("FERRULE_ORDER = {'before': ['a']}\n" if name == "c" else ""))
    hooks = site.manager().hooks
    for part in (hooks.only(["a", "b"]), hooks.only(["a", "c"]), hooks):
        found = [entry.name for entry in part.serving("ferrule_turn_stop")]
        assert "c" not in found or found.index("c") < found.index("a")


REWRITE = "@hookimpl\ndef ferrule_tool_rewrite(call, turn):\n    {body}\n"


@pytest.mark.parametrize(
    ("bodies", "outcome"),
    [
        ({}, None),
        ({"a": "return None"}, None),
        ({"a": "return None", "b": "return 'new'"}, "new"),
    ],
    ids=["nobody", "no answer", "one answer"],
)
def test_one_plugin_may_rewrite_a_call(site, bodies, outcome):
    for name, body in bodies.items():
        site.add_hooks(name, REWRITE.format(body=body))
    hooks = site.manager().hooks
    found = anyio.run(lambda: hooks.rewrite("ferrule_tool_rewrite", call=1, turn=None))
    assert found == outcome


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        ({"a": "return 'x'", "b": "return 'y'"}, "both answered"),
        ({"a": "return 'x'", "b": "raise ValueError('bad')"}, "raised ValueError: bad"),
    ],
    ids=["two answers", "fault"],
)
def test_two_rewrites_or_a_fault_raise(site, bodies, words):
    for name, body in bodies.items():
        site.add_hooks(name, REWRITE.format(body=body))
    hooks = site.manager().hooks
    with pytest.raises(PluginError, match=words):
        anyio.run(lambda: hooks.rewrite("ferrule_tool_rewrite", call=1, turn=None))


def test_a_hook_nobody_serves_imports_nothing(site):
    site.add_hooks("other", "@hookimpl\ndef ferrule_turn_end(): ...\n")
    site.manager()
    code = f"""
import sys, anyio
from ferrule.index import build_index
from ferrule.manager import PluginManager
index = build_index([{str(site.folder)!r}], {site.environ!r})
manager = PluginManager(index, {{}}, report=print)
hooks = manager.hooks
async def main():
    before = set(sys.modules)
    assert await hooks.assess("ferrule_tool_before", call=None, turn=None) == {{}}
    assert await hooks.gather("ferrule_turn_stop", turn=None, last_message=None) == []
    assert await hooks.rewrite("ferrule_tool_rewrite", call=None, turn=None) is None
    await hooks.observe("ferrule_turn_start", turn=None)
    print(set(sys.modules) - before, "acme_hooks_other" in sys.modules)
anyio.run(main)
"""
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert finished.stdout == "set() False\n"


def test_a_plugin_is_imported_when_a_hook_it_serves_is_first_called(site):
    site.add_hooks("late", "@hookimpl\ndef ferrule_turn_end(): ...\n")
    hooks = site.manager().hooks
    anyio.run(lambda: hooks.observe("ferrule_turn_start", turn=None))
    assert "acme_hooks_late" not in sys.modules
    anyio.run(lambda: hooks.observe("ferrule_turn_end", turn=None, outcome=None))
    assert "acme_hooks_late" in sys.modules


@pytest.mark.parametrize("name", HOOKS)
def test_hook_reaches_a_plugin_with_its_exact_arguments(site, name):
    """Every hook of the contract can be served, by keyword, with all of its arguments."""
    arguments = list(inspect.signature(getattr(hooks_module, name)).parameters)
    source = f"calls = []\n@hookimpl\ndef {name}({', '.join(arguments)}):\n"
    source += f"    calls.append([{', '.join(arguments)}])\n"
    site.add_hooks("all", source)
    hooks = site.manager().hooks
    call = getattr(hooks, markers.HOOK_CONTRACTS[name].kind)
    values = {each: site.context if each == "context" else each.upper() for each in arguments}
    anyio.run(lambda: call(name, **values))
    assert sys.modules["acme_hooks_all"].calls == [list(values.values())]
    assert site.reports == []


def test_the_kernel_is_told_when_it_calls_a_hook_as_another_kind(site):
    site.add_hooks("guard", BEFORE.format(prefix="", body="return Verdict.deny('no')"))
    hooks = site.manager().hooks
    with pytest.raises(TypeError, match=r"is not a hook .* of the kind observe"):
        anyio.run(lambda: hooks.observe("ferrule_tool_before", call=None, turn=None))
