"""The contract of tools, and tickets that are filed in sessions."""

import shutil
from pathlib import Path

import pytest

from ferrule_testkit import ToolConformance
from ferrule_testkit.model_items import function_call, message
from gallery_ticket.tool import TicketTool

CHECKOUT = Path(__file__).parents[1]
TICKET = {"title": "the door squeaks", "body": "since Monday"}


class TestTicketTool(ToolConformance):
    """Every rule of the contract, tried on this tool."""

    arguments = TICKET

    @pytest.fixture(autouse=True)
    def _with_a_tracker(self, tracker):
        self.tracker = tracker

    def make(self, context):
        """Return the tool with its settings."""
        settings = {"url": self.tracker.url, "token": self.tracker.token}
        return TicketTool(context._replace(settings=settings))


@pytest.fixture
def file(ferrule_home, model_server, run_ferrule, tracker):
    """Have the model file a ticket in a session; returns the run and what the model reads."""

    def run(checkout=CHECKOUT, arguments=TICKET, tables=""):
        ferrule_home.configure(
            tables=f'[plugins.settings.ticket]\nurl = "{tracker.url}"\n'
            f'token = "a-token-of-the-tracker"\n{tables}'
        )
        model_server.play([[function_call("file_ticket", arguments)], [message("done")]])
        finished = run_ferrule("--dev-plugin", str(checkout), "exec", "--json", "file it")
        assert finished.returncode == 0, finished.stderr
        return finished, model_server.requests[-1].body["input"][-1]["output"]

    return run


def test_a_ticket_is_filed(file, tracker):
    finished, output = file()

    assert tracker.tickets == [TICKET]
    assert output == f"filed as {tracker.url}/1"
    assert tracker.token not in finished.stdout + finished.stderr


@pytest.mark.slow
def test_the_model_reads_why_nothing_was_filed(file, tracker):
    tracker.token = "another"
    _, output = file()

    assert "the ticket was not filed" in output
    assert "401 Unauthorized" in output
    assert tracker.tickets == []


@pytest.mark.slow
def test_a_call_without_a_title_never_reaches_the_tracker(file, tracker):
    _, output = file(arguments={"body": "since Monday"})

    assert output == "failed to parse function arguments: title: Field required"
    assert tracker.tickets == []


@pytest.mark.slow
def test_without_settings_it_is_not_offered_and_says_why(model_server, run_ferrule):
    model_server.play([[message("done")]])
    finished = run_ferrule("--dev-plugin", str(CHECKOUT), "exec", "file it")

    assert finished.returncode == 0, finished.stderr
    assert "plugins.settings.ticket" in finished.stderr
    names = [tool.get("name") for tool in model_server.requests[0].body["tools"]]
    assert "file_ticket" not in names


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_in_a_process_of_its_own_it_reaches_the_declared_host_alone(file, tracker, tmp_path):
    isolated = '[plugins.isolation]\ngallery-ticket = "process"\n'
    isolated += '[network]\nlocal_addresses = ["127.0.0.1"]\n'
    _, refused = file(tables=isolated)
    checkout = tmp_path / "checkout"
    shutil.copytree(CHECKOUT, checkout)
    manifest = checkout / "src/gallery_ticket/ferrule.toml"
    manifest.write_text(
        manifest.read_text().replace("tickets.example.com", f"127.0.0.1:{tracker.port}")
    )
    _, filed = file(checkout, tables=isolated)

    assert "Client error '403" in refused
    assert filed == f"filed as {tracker.url}/1"
    assert tracker.tickets == [TICKET]
