"""What a living session takes up of a configuration that changes between its turns."""

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say


def test_a_plugin_is_switched_off_and_on_between_turns(talk, warnings, bench, checkout):
    off = lambda: bench.set_key("plugins.disabled", '["acme-reload"]')  # noqa: E731 -- a step
    on = lambda: bench.set_key("plugins.disabled", "[]")  # noqa: E731 -- a step

    answers = talk(off, on)

    assert answers == ["one", "unsupported call: ticket", "one"]
    assert warnings() == [
        "the configuration has changed: plugins count from this turn on",
        "acme-reload 1.0 is no longer used",
        "the configuration has changed: plugins count from this turn on",
        "acme-reload 1.0 is used from this turn on",
    ]


def test_a_session_may_keep_what_it_began_with(talk, warnings, bench, checkout):
    bench.set_key("plugins.reload", "false")

    def change():
        checkout.tool("two")
        bench.set_key("plugins.disabled", '["acme-reload"]')

    assert talk(change, lambda: None) == ["one", "one", "one"]
    assert warnings() == []


def test_a_disabled_plugin_that_changes_is_not_imported(talk, bench, checkout, tmp_path):
    ran = tmp_path / "ran"

    def disable():
        bench.set_key("plugins.disabled", '["acme-reload"]')
        checkout.write("tool.py", f"from pathlib import Path\nPath({str(ran)!r}).touch()\n")

    answers = talk(disable)

    assert answers == ["one", "unsupported call: ticket"]
    assert not ran.exists()


PATIENT = """\
import time
from pathlib import Path
Path({began!r}).touch()
while not Path({gate!r}).exists():
    time.sleep(0.001)
"""


def test_what_is_probed_for_one_session_keeps_no_other_waiting(bench, stage, checkout, tmp_path):
    began, gate = tmp_path / "began", tmp_path / "gate"
    checkout.write("__init__.py", PATIENT.format(began=str(began), gate=str(gate)))
    bench.set_key("plugins.disabled", '["acme-reload"]')

    async def script(session):
        for count in (1, 2):
            stage.turns.extend([[call("ticket", id_=f"c{count}"), DONE], [*say("ok"), DONE]])
            await bench.start(session)
            if count == 2:
                with anyio.fail_after(120):
                    while not began.exists():
                        await anyio.sleep(0.001)
                gate.touch()
            await bench.until("turn/completed", count)
            bench.set_key("plugins.disabled", "[]")

    bench.run(script)

    assert list(bench.outputs(stage).values()) == ["unsupported call: ticket", "one"]


ENDS = """\
from ferrule_hookspecs import hookimpl
from kernel_plugins import stage
@hookimpl
def ferrule_session_end(context, reason):
    stage.ran.append(reason)
"""


def test_a_plugin_that_is_switched_off_is_told_that_its_session_is_over(
    talk, bench, stage, checkout
):
    checkout.declare(plugins="acme_hooks=acme_reload.hooks", tools="ticket=acme_reload.tool:Ticket")
    checkout.write("hooks.py", ENDS)

    talk(lambda: bench.set_key("plugins.disabled", '["acme-reload"]'))

    assert stage.ran == ["closed"]


REFUSES = """from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.errors import SessionRefusedError
@hookimpl
def ferrule_tools(context):
    if {refuses}:
        raise SessionRefusedError("there is no ticket office")
"""


def test_a_plugin_that_is_switched_off_goes_although_another_has_no_tools_to_offer(
    talk, warnings, bench, checkout
):
    checkout.declare(plugins="acme_hooks=acme_reload.hooks", tools="ticket=acme_reload.tool:Ticket")
    checkout.write("hooks.py", REFUSES.format(refuses=False))

    def change():
        bench.set_key("plugins.disabled", '["ticket"]')
        checkout.write("hooks.py", REFUSES.format(refuses=True))

    assert talk(change) == ["one", "unsupported call: ticket"]
    assert any("there is no ticket office" in text for text in warnings())


def test_what_a_session_may_do_stays_as_it_was_opened(talk, warnings, bench, stage, checkout):
    def widen():
        bench.set_key("sandbox_mode", '"danger-full-access"')
        bench.set_key("model", '"other"')

    talk(widen)

    assert {request.model for request in stage.requests} == {"test-model"}
    contexts = {params["turn"]["status"] for params in bench.of("turn/completed")}
    assert contexts == {"completed"}
    assert warnings() == []


def test_a_configuration_that_cannot_be_read_changes_nothing(talk, warnings, bench, checkout):
    path = bench.host.home / "config.toml"
    good = path.read_text()

    answers = talk(
        lambda: path.write_text('plugins = {disabled = ["acme-reload"]\n' + good),
        lambda: path.write_text(good),
    )

    assert answers == ["one", "one", "one"]
    (told,) = warnings()
    assert "the configuration has changed and cannot be used as it is" in told


SETTINGS = """\
from pydantic import BaseModel
class Settings(BaseModel):
    word: str = "none"
"""
TOOL = """\
from ferrule_hookspecs import Tool, ToolResult
class Ticket(Tool):
    name = "ticket"
    def __init__(self, context):
        self._word = context.settings.get("word")
    async def run(self, call, context):
        return ToolResult(str(self._word))
"""


@pytest.fixture
def configurable(checkout):
    """The checkout, whose tool answers with a word of the plugin's own table."""
    checkout.write("settings.py", SETTINGS)
    checkout.write("tool.py", TOOL)
    checkout.declare(
        settings="acme=acme_reload.settings:Settings", tools="ticket=acme_reload.tool:Ticket"
    )
    return checkout


def test_a_plugin_s_own_table_counts_from_the_next_turn_on(talk, warnings, bench, configurable):
    answers = talk(
        lambda: bench.set_key("plugins.settings.acme.word", '"given"'),
        lambda: bench.set_key("plugins.settings.acme.word", "7"),
        lambda: bench.set_key("plugins.settings.acme.word", '"again"'),
    )

    assert answers == ["none", "given", "given", "again"]
    assert any("word" in text and "go on as they were" in text for text in warnings())


def test_settings_that_do_not_fit_count_once_a_plugin_comes_that_they_fit(
    talk, warnings, bench, configurable
):
    answers = talk(
        lambda: bench.set_key("plugins.settings.acme.word", "7"),
        lambda: None,
        lambda: configurable.write("settings.py", SETTINGS.replace("str", "int | str")),
    )

    assert answers == ["none", "none", "none", "7"]
    assert sum("go on as they were" in text for text in warnings()) == 1
