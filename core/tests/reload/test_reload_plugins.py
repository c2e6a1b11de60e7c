"""A plugin that changed on disk is taken up between the turns of a living session."""

import gc
import importlib
import sys
import weakref

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule.approval_record import record_approval


def test_an_edited_tool_answers_with_its_new_text_from_the_next_turn_on(talk, warnings, checkout):
    answers = talk(lambda: checkout.tool("two"), lambda: None)

    assert answers == ["one", "two", "two"]
    assert warnings() == ["acme-reload 1.0 has changed and was loaded anew"]


def test_the_lock_of_an_editor_beside_a_file_disturbs_no_turn(talk, checkout):
    lock = checkout.package / ".#tool.py"

    assert talk(lambda: lock.symlink_to("nobody@nowhere:1")) == ["one", "one"]


def test_a_new_version_is_named(talk, warnings, checkout):
    def upgrade():
        checkout.tool("two")
        checkout.declare("2.0", tools="ticket=acme_reload.tool:Ticket")

    assert talk(upgrade) == ["one", "two"]
    assert warnings() == ["acme-reload 2.0 is used from this turn on, in the place of 1.0"]


def test_edits_of_equal_size_in_the_same_second_are_all_seen(talk, checkout):
    steps = [lambda n=n: checkout.tool(f"{n:03}") for n in range(1, 6)]

    assert talk(*steps) == ["one", "001", "002", "003", "004", "005"]


def test_a_tool_that_is_gone_is_no_longer_offered(talk, stage, checkout):
    def remove():
        checkout.declare(plugins="acme_guard=acme_reload.guard")
        checkout.guard("never")

    answers = talk(remove)

    assert answers[0] == "one"
    assert answers[1] == "unsupported call: ticket"
    assert "ticket" in [tool.name for tool in stage.requests[0].tools]
    assert "ticket" not in [tool.name for tool in stage.requests[-1].tools]


def test_a_broken_text_leaves_the_old_one_serving_and_is_told_once(talk, warnings, checkout):
    def breaks():
        checkout.write("tool.py", "raise ValueError('half an edit')\n")

    answers = talk(breaks, lambda: None, lambda: checkout.tool("two"))

    assert answers == ["one", "one", "one", "two"]
    broken, mended = warnings()
    assert "acme-reload 1.0" in broken
    assert "goes on as it was: what is there now cannot be used" in broken
    assert "half an edit" in broken
    assert mended == "acme-reload 1.0 has changed and was loaded anew"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("FERRULE_RELOADABLE = False", "does not want it"),
        ("FERRULE_RELOADABLE = 'it holds a licence'", "it holds a licence"),
    ],
)
def test_what_cannot_be_replaced_says_so_and_goes_on(talk, warnings, checkout, line, reason):
    checkout.write("__init__.py", line + "\n")

    answers = talk(lambda: checkout.tool("two"), lambda: None)

    assert answers == ["one", "one", "one"]
    (told,) = warnings()
    assert "goes on as it was: it cannot be replaced while Ferrule runs" in told
    assert reason in told


def test_what_the_program_itself_has_imported_is_not_replaced(talk, warnings, checkout):
    sys.path.append(str(checkout.package.parent))
    importlib.import_module("acme_reload.tool")

    answers = talk(lambda: checkout.tool("two"))

    assert answers == ["one", "one"]
    assert "the program itself has imported 'acme_reload" in warnings()[0]


def test_what_was_pinned_says_what_it_is_needed_for(warnings, bench, stage, checkout):
    async def main(kernel):
        session = await kernel.threads.start(bench.options(kernel, ephemeral=True))
        entry = next(e for e in kernel.generations.host.index.all_entries() if e.name == "ticket")
        kernel.generations.pin(entry, "it carries the connections")
        async with anyio.create_task_group() as group:
            group.start_soon(bench.read, session)
            checkout.tool("two")
            stage.turns.extend([[call("ticket"), DONE], [*say("ok"), DONE]])
            await bench.start(session)
            await bench.until("turn/completed")
            await session.close()

    bench.host.run(main)

    assert bench.outputs(stage) == {"c1": "one"}
    assert "it cannot be replaced while Ferrule runs: it carries the connections" in warnings()[0]


PROVIDER = """\
from kernel_plugins.provider import StagedProvider
WORD = {word!r}
class Provider(StagedProvider):
    async def stream(self, request):
        from kernel_plugins import stage
        stage.ran.append(WORD)
        async for event in super().stream(request):
            yield event
    async def aclose(self):
        from kernel_plugins import stage
        stage.ran.append(WORD + " closed")
"""


def test_a_provider_is_replaced_and_the_old_one_closed(bench, stage, checkout):
    checkout.declare(providers="acme=acme_reload.model:Provider")
    checkout.write("model.py", PROVIDER.format(word="old"))
    path = bench.host.home / "config.toml"
    path.write_text(path.read_text().replace('wire_api = "staged"', 'wire_api = "acme"'))

    async def script(session):
        for count in (1, 2):
            stage.turns.append([*say("ok"), DONE])
            await bench.start(session)
            await bench.until("turn/completed", count)
            checkout.write("model.py", PROVIDER.format(word="new"))

    bench.run(script)

    assert stage.ran == ["old", "old closed", "new", "new closed"]


def test_a_guard_judges_through_every_change_of_its_text(talk, checkout):
    checkout.declare(plugins="acme_guard=acme_reload.guard", tools="ticket=acme_reload.tool:Ticket")
    checkout.guard("first")

    answers = talk(
        lambda: checkout.guard("second"),
        lambda: checkout.write("guard.py", "def broken(:\n"),
        lambda: checkout.guard("third"),
    )

    reasons = ["first", "second", "second", "third"]
    assert [reason in answer for reason, answer in zip(reasons, answers, strict=True)] == [True] * 4


def test_an_installed_plugin_may_come_be_upgraded_and_go(note, warnings, site):
    first, second, third, last = note(
        lambda: site.install("1.0", "by one"),
        lambda: site.install("2.0", "by two"),
        site.remove,
    )

    assert first == last == "noted a"
    assert "by one" in second
    assert "by two" in third
    assert warnings() == [
        "acme-reload 1.0 is used from this turn on",
        "acme-reload 2.0 is used from this turn on, in the place of 1.0",
        "acme-reload 2.0 is no longer used",
    ]


def test_a_guard_whose_files_are_gone_goes_on_judging(note, warnings, bench, site):
    site.install("1.0", "guarded")
    bench.set_key("plugins.required", '["acme_guard"]')

    first, second, third = note(site.remove, lambda: site.install("2.0", "again"))

    assert "guarded" in first
    assert "guarded" in second
    assert "again" in third
    gone, back = warnings()
    assert "it guards and its files are gone" in gone
    assert back == "acme-reload 2.0 is used from this turn on, in the place of 1.0"


def test_a_guard_whose_new_version_needs_another_python_goes_on_judging(note, warnings, site):
    site.install("1.0", "by one")
    requires = "Requires-Python: >=99\n"

    first, second = note(lambda: site.install("2.0", "by two", requires=requires))

    assert "by one" in first
    assert "by one" in second
    assert "goes on as it was: what is there now cannot be used" in warnings()[0]


def test_a_guard_whose_version_is_required_goes_on_judging_in_that_version(
    note, warnings, bench, site
):
    site.install("1.0", "by one")
    bench.set_key("plugins.required", '["acme-reload==1.0"]')

    first, second = note(lambda: site.install("2.0", "by two"))

    assert "by one" in first
    assert "by one" in second
    assert "'acme-reload==1.0' is installed in version 2.0 only" in warnings()[0]


def test_a_guard_that_its_new_version_does_without_goes_on_judging(note, warnings, bench, site):
    site.install("1.0", "by one")
    site.approve(bench.host)
    points = "[ferrule.tools]\nacme_tool = acme_reload:Tool\n"

    first, second = note(lambda: site.install("2.0", "by two", points=points))

    assert "by one" in first
    assert "by one" in second
    assert any("it guards and what is there now has no" in text for text in warnings())


def test_what_is_approved_before_the_first_thread_is_opened_counts_in_it(bench, stage, site):
    site.install("1.0", "by one")
    bench.set_key("plugins.allow", '["acme-reload", "kernel-plugins"]')
    bench.set_key("plugins.require_trust", "true")
    for entry in bench.host.read_index().all_entries():
        if entry.is_dev:
            record_approval(entry, entry.hooks, "2026-01-01", bench.host.environ)

    async def main(kernel):
        options = bench.options(kernel, ephemeral=True)
        kernel.manager(options.config.values)
        site.approve(bench.host)
        session = await kernel.threads.start(options)
        stage.turns.extend([[call("note", '{"text": "a"}'), DONE], [*say("ok"), DONE]])
        async with anyio.create_task_group() as group:
            group.start_soon(bench.read, session)
            await bench.start(session)
            await bench.until("turn/completed")
            await session.close()

    bench.host.run(main)

    assert "by one" in bench.outputs(stage)["c1"]


def test_a_version_that_is_not_allowed_is_not_imported_and_its_guard_refuses(note, bench, site):
    site.install("1.0", "by one")
    bench.set_key("plugins.required", '["acme_guard"]')
    bench.set_key("plugins.allow", '["acme-reload==1.0", "kernel-plugins"]')

    first, second = note(lambda: site.install("2.0", "by two"))

    assert "by one" in first
    assert "is required and cannot be used" in second
    assert "by two" not in second


def test_a_guard_that_changed_since_it_was_approved_refuses(note, bench, site):
    site.install("1.0", "by one")
    site.approve(bench.host)

    first, second = note(lambda: site.install("2.0", "by two"))

    assert "by one" in first
    assert "guards and cannot be used: changed since you approved it" in second
    assert "by two" not in second


def test_a_guard_that_changes_while_no_rule_can_be_read_goes_on_judging(
    note, warnings, bench, site
):
    site.install("1.0", "by one")
    site.approve(bench.host)

    def upgrade():
        bench.set_key("plugins.disabled", '"a list is wanted"')
        site.install("2.0", "by two")

    def mend():
        bench.set_key("plugins.disabled", "[]")
        site.approve(bench.host)

    answers = note(upgrade, lambda: None, mend)

    reasons = ["by one", "by one", "by one", "by two"]
    assert [reason in answer for reason, answer in zip(reasons, answers, strict=True)] == [True] * 4
    assert sum("plugins stay as they are" in text for text in warnings()) == 1


def test_a_hook_that_keeps_something_of_a_session_is_told_of_the_change(talk, stage, checkout):
    source = """\
from ferrule_hookspecs import hookimpl
from kernel_plugins import stage
TEXT = {text!r}
@hookimpl
def ferrule_session_start(context, source):
    stage.ran.append((TEXT, "start", source))
@hookimpl
def ferrule_session_end(context, reason):
    stage.ran.append((TEXT, "end", reason))
"""
    checkout.declare(plugins="acme_hooks=acme_reload.hooks", tools="ticket=acme_reload.tool:Ticket")
    checkout.write("hooks.py", source.format(text="old"))

    talk(lambda: checkout.write("hooks.py", source.format(text="new")))

    assert stage.ran == [
        ("old", "start", "startup"),
        ("old", "end", "reload"),
        ("new", "start", "reload"),
        ("new", "end", "closed"),
    ]


def test_turns_that_begin_together_all_use_what_is_there(bench, stage, checkout):
    async def main(kernel):
        sessions = [
            await kernel.threads.start(bench.options(kernel, ephemeral=True)) for _ in range(3)
        ]
        checkout.tool("two")
        stage.turns.extend([[call("ticket"), DONE]] * 3 + [[*say("ok"), DONE]] * 3)
        async with anyio.create_task_group() as group:
            for session in sessions:
                group.start_soon(bench.read, session)
                await bench.start(session)
            await bench.until("turn/completed", 3)
            for session in sessions:
                await session.close()

    bench.host.run(main)

    outputs = [
        i["output"] for r in stage.requests for i in r.input if i["type"].endswith("_output")
    ]
    assert len(outputs) >= 3
    assert set(outputs) == {"two"}


SLOW = """\
import anyio
from ferrule_hookspecs import Tool, ToolResult
from kernel_plugins import stage
class Ticket(Tool):
    name = "ticket"
    async def run(self, call, context):
        begun = anyio.Event()
        gate = anyio.Event()
        stage.waiting.append((begun, gate))
        begun.set()
        await gate.wait()
        from acme_reload.words import WORD
        from . import more
        import acme_reload.words as again
        from acme_reload import late
        return ToolResult(f"{{WORD}} {{more.WORD}} {{again.WORD}} {{late.WORD}} {text}")
"""


def test_a_call_in_flight_ends_on_what_it_began_with(bench, stage, checkout):
    def write(text):
        checkout.write("tool.py", SLOW.format(text=text))
        checkout.write("words.py", f"WORD = {text!r}\n")
        checkout.write("more.py", f"WORD = {text!r}\n")
        checkout.write("late.py", "from acme_reload.words import WORD\n")

    write("old")
    checkout.write("__init__.py", "from acme_reload import more, words\n")
    ends = []

    async def one(session, count):
        stage.turns.extend([[call("ticket", id_=f"c{count}"), DONE]])
        await bench.start(session)
        with anyio.fail_after(120):
            while len(stage.waiting) <= count:
                await anyio.sleep(0.001)

    async def main(kernel):
        first = await kernel.threads.start(bench.options(kernel, ephemeral=True))
        second = await kernel.threads.start(bench.options(kernel, ephemeral=True))
        async with anyio.create_task_group() as group:
            group.start_soon(bench.read, first)
            group.start_soon(bench.read, second)
            await one(first, 0)
            write("new")
            await one(second, 1)
            stage.turns.extend([[*say("ok"), DONE], [*say("ok"), DONE]])
            for _, gate in stage.waiting:
                gate.set()
            await bench.until("turn/completed", 2)
            for request in stage.requests[-2:]:
                ends.extend(i["output"] for i in request.input if i["type"].endswith("_output"))
            await first.close()
            await second.close()

    bench.host.run(main)

    assert sorted(ends) == ["new new new new new", "old old old old old"]


def test_code_that_was_replaced_is_garbage(bench, stage, checkout):
    held = []

    def edit(number):
        held.append(weakref.ref(sys.modules["acme_reload.tool"]))
        checkout.tool(f"{number}")

    steps = [lambda n=n: edit(n) for n in range(6)]

    async def script(session):
        for count, step in enumerate(steps):
            stage.turns.extend([[call("ticket", id_=f"c{count}"), DONE], [*say("ok"), DONE]])
            await bench.start(session)
            await bench.until("turn/completed", count + 1)
            step()
        gone = [True] * (len(steps) - 1) + [False]
        with anyio.fail_after(120):
            while [ref() is None for ref in held] != gone:
                gc.collect()
                await anyio.sleep(0.01)

    bench.run(script)

    assert list(bench.outputs(stage).values())[1:] == [str(number) for number in range(5)]
