"""What a stranger's tool can do in a process of its own, with the real sandbox around it."""

import http.server
import json
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from ferrule_testkit.model_items import function_call
from ferrule_testkit.processes import survivors

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

HARMLESS = {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TZ", "USER"}
HARMLESS |= {"TMPDIR", "PWD"}  # the sandbox sets these by itself
OWN = """\
[capabilities]
read = ["~/.netrc"]
write = ["~/.cache/prowler"]
environment = ["PROWLER_KEY", "PROWLER_UNSET"]
"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "8")
        self.end_headers()
        self.wfile.write(b"the page")

    def log_message(self, *arguments):
        """Nobody looks at it."""


@contextmanager
def site():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def prepared(ferrule_home):
    """A home with secrets, and something to read in the workspace."""
    user = ferrule_home.path.parent / "user"
    (user / ".ssh").mkdir()
    (user / ".ssh" / "id").write_text("secret")
    (user / ".netrc").write_text("granted")
    (ferrule_home.workspace / "notes").write_text("notes")
    ferrule_home.environ["PROWLER_KEY"] = "a key of its own"
    return user


def wait_until(holds):
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it does not come to hold"
        time.sleep(0.02)


def refusals(finished):
    told = [item["message"] for item in finished.items("error")]
    return [text for text in told if "cannot run in a process of its own" in text]


def found(answers):
    return json.loads(answers[-1])


@pytest.mark.parametrize(
    "mode",
    ["workspace-write", pytest.param("danger-full-access", marks=pytest.mark.slow)],
)
def test_it_reaches_what_was_declared_and_nothing_else(
    prepared, ferrule_home, checkout, turn, mode
):
    ferrule_home.configure(top='sandbox_backend = "none"' if mode.startswith("danger") else "")
    with site() as port:
        arguments = {"port": port}
        finished, answers = turn(
            checkout("prowler", OWN), ("prowler", arguments), words=("-s", mode)
        )

    seen = found(answers)
    assert seen["at import"] == {"secret": "PermissionError", "write": "OSError"}
    assert seen["secret"] == "PermissionError"
    assert (seen["granted"], seen["readable"]) == ("granted", "notes")
    assert (seen["workspace"], seen["home"]) == ("OSError", "OSError")
    assert (prepared / ".cache" / "prowler" / "kept").read_text() == "kept"
    assert seen["plain"] in ("ConnectionRefusedError", "OSError")
    assert {*seen["environment"]} <= {*HARMLESS, "PROWLER_KEY"}
    assert seen["given"] == "a key of its own"
    assert seen["config"] == [{}, None]
    assert seen["others"] == []
    assert (seen["fork"], seen["patch"]) == ("forked", "patched")
    assert finished.items("agent_message")[0]["text"] == "done"
    assert not (ferrule_home.workspace / "planted").exists()


def test_a_look_at_it_imports_nothing(prepared, ferrule_home, run_ferrule, checkout):
    listed = run_ferrule("--dev-plugin", str(checkout("prowler", OWN)), "plugins", "list")

    (line,) = [line for line in listed.stdout.splitlines() if "ferrule.tools:prowler" in line]
    assert line.split(maxsplit=2)[1:] == ["active", "in a process of its own"]
    assert not (ferrule_home.workspace / "planted").exists()


@pytest.mark.slow
def test_where_the_configured_sandbox_cannot_confine_it_the_best_one_does(
    prepared, ferrule_home, checkout, turn
):
    ferrule_home.configure(top='sandbox_backend = "container"')  # without an image
    _, answers = turn(
        checkout("prowler", OWN),
        ("prowler", {"port": 1}),
        words=("-s", "danger-full-access"),
    )

    assert found(answers)["secret"] == "PermissionError"
    assert (prepared / ".cache" / "prowler" / "kept").read_text() == "kept"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["read-only", "danger-full-access"])
def test_where_no_sandbox_can_confine_it_the_tool_does_not_start(
    prepared, ferrule_home, checkout, turn, mode
):
    ferrule_home.configure(tables='[plugins]\ndisabled = ["ferrule-sandbox-bubblewrap"]')
    finished, answers = turn(checkout("prowler", OWN), ("prowler", {"port": 1}), words=("-s", mode))

    assert answers == ["unsupported call: prowler"]
    (told,) = refusals(finished)
    assert "the sandbox landlock" in told


@pytest.mark.slow
def test_nothing_that_it_forks_outlives_the_session(prepared, checkout, turn, ferrule_home):
    ferrule_home.environ["PROWLER_KEY"] = marker = f"in {ferrule_home.path}"
    _, answers = turn(checkout("prowler", OWN), ("prowler", {"port": 1}))

    assert found(answers)["fork"] == "forked"
    assert survivors(f"PROWLER_KEY={marker}") == {}


@pytest.mark.slow
def test_it_ends_with_a_host_that_is_killed(prepared, checkout, ferrule_home, model_server):
    ferrule_home.environ["PROWLER_KEY"] = marker = f"in {ferrule_home.path}"
    model_server.play([[function_call("prowler", {"lingers": True})]])
    words = ("--dev-plugin", str(checkout("prowler", OWN)), "exec", "go")
    with subprocess.Popen(
        ferrule_home.command(words),
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as host:
        try:
            wait_until((prepared / ".cache" / "prowler" / "began").exists)
            assert len(survivors(f"PROWLER_KEY={marker}")) > 1
        finally:
            host.kill()

    wait_until(lambda: survivors(f"PROWLER_KEY={marker}") == {})


@pytest.mark.slow
def test_it_talks_to_the_hosts_it_declared_and_to_no_other(prepared, ferrule_home, checkout, turn):
    with site() as port, site() as other:
        rule = f"allow network host:127.0.0.1 port:{other}"
        ferrule_home.configure(
            tables=f'[network]\nlocal_addresses = ["127.0.0.1"]\nrules = ["{rule}"]'
        )
        folder = checkout("prowler", f'[capabilities]\nhosts = ["127.0.0.1:{port}"]')
        pages = [f"http://127.0.0.1:{each}/" for each in (port, other)]
        arguments = {"port": port, "addresses": pages}
        _, answers = turn(folder, ("prowler", arguments))

    assert found(answers)["hosts"] == ["the page", 403]
    assert found(answers)["plain"] in ("ConnectionRefusedError", "OSError")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "manifest", "words"),
    [
        (
            "[network]\nenabled = false",
            '[capabilities]\nhosts = ["tickets.acme.example"]',
            "it needs a managed network",
        ),
        ("", '[capabilities]\nhosts = ["a b"]', "'a b', which is no name of a host"),
        ("", '[capabilities]\nwrite = ["~/"]', "would leave nothing confined"),
        ("", '[capabilities]\nwrite = ["~/.ssh"]', "no command may change"),
    ],
    ids=["network off", "no host", "home", "secret"],
)
def test_what_cannot_be_confined_as_declared_does_not_start(
    prepared, ferrule_home, checkout, turn, tables, manifest, words
):
    ferrule_home.configure(tables=tables)
    finished, answers = turn(checkout("prowler", manifest), ("prowler", {"port": 1}))

    assert answers == ["unsupported call: prowler"]
    (told,) = refusals(finished)
    assert words in told
