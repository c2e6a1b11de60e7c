"""The managed network in real sessions: the shell, bubblewrap and the proxy, to a real server."""

import base64
import hashlib
import http.server
import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("curl") is None, reason="needs bubblewrap, curl"
)

REVIEW = """\
import json, sys
request = json.load(sys.stdin)
with open(sys.argv[1], "a") as seen:
    print(json.dumps(request), file=seen)
print(json.dumps({"decision": sys.argv[2], "reason": "says the script"}))
"""


class Site(http.server.ThreadingHTTPServer):
    """Answers with what is put into `pages`; `/wait` is never answered."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.pages = {"/": b"the page"}
        self.asked = []
        self.waiting = threading.Event()
        self.gone = threading.Event()

    def handle_error(self, request, client_address):
        """A client that is gone is no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/wait":
            self.server.waiting.set()
            self.rfile.read()
            self.server.gone.set()
            return
        page = self.server.pages.get(self.path)
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page or b"")))
        self.end_headers()
        self.wfile.write(page or b"")

    def log_message(self, *arguments):
        """Tests look at `asked`."""


@pytest.fixture
def site():
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def configured(ferrule_home, site):
    """Write a configuration in which the site may be reached."""

    def configure(*rules, network="", tables="", top=""):
        lines = [f"allow network protocol:http host:127.0.0.1 port:{site.port}", *rules]
        ferrule_home.configure(
            top=top,
            tables=(
                "[sandbox_workspace_write]\nexclude_slash_tmp = true\n"
                "exclude_tmpdir_env_var = true\n"
                f'[network]\nenabled = true\nlocal_addresses = ["127.0.0.1"]\n{network}\n'
                f"rules = {json.dumps(lines)}\n{tables}"
            ),
        )

    return configure


@pytest.fixture
def turn(run_ferrule, model_server):
    """Have the model run command lines, one after the other; returns what it read of each."""

    def run(*lines, approval="never", words=()):
        answers = [
            [function_call("exec_command", {"cmd": line, "login": False}, call_id=f"c{number}")]
            for number, line in enumerate(lines)
        ]
        model_server.play([*answers, [message("done")]])
        finished = run_ferrule("exec", "-a", approval, "-s", "workspace-write", *words, "go")
        assert finished.returncode == 0, finished.stderr
        sent = model_server.requests[-1].body["input"]
        outputs = [item["output"] for item in sent if item["type"].endswith("_output")]
        return outputs[-len(lines) :]

    return run


def logged(run_ferrule, *words):
    finished = run_ferrule("network", "log", "--json", *words)
    assert finished.returncode == 0, finished.stderr
    return [json.loads(line) for line in finished.stdout.splitlines()]


def test_a_command_reaches_what_is_allowed_and_nothing_else(configured, turn, site, run_ferrule):
    configured()
    url = f"http://127.0.0.1:{site.port}/"

    page, refused, tunnel, direct, name, off = turn(
        f"curl -sS {url}",
        "curl -sS http://evil.test/",
        "curl -sS https://evil.test/",
        f"curl -sS --noproxy '*' {url}",
        "python3 -c 'import socket; socket.getaddrinfo(\"evil.test\", 80)'",
        "env",
    )

    assert "the page" in page
    assert "GET evil.test:80 is refused: no rule allows it" in refused
    assert "403" in tunnel
    assert "the page" not in direct
    assert "gaierror" in name
    assert "SANDBOX_NETWORK_DISABLED" not in off
    records = logged(run_ferrule)
    assert [(one["kind"], one["host"]) for one in records] == [
        ("allowed", "127.0.0.1"),
        ("closed", "127.0.0.1"),
        ("refused", "evil.test"),
        ("refused", "evil.test"),
    ]
    assert records[0]["call"] == "c0"
    assert url in " ".join(records[0]["command"])
    assert records[1]["received"] > 0
    assert records[0]["thread"]
    assert records[0]["turn"]


def test_without_enabled_there_is_no_network(ferrule_home, turn, site):
    ferrule_home.configure(
        tables=f'[network]\nrules = ["allow network host:127.0.0.1 port:{site.port}"]'
    )

    (output,) = turn(f"curl -sS http://127.0.0.1:{site.port}/; env")

    assert "the page" not in output
    assert "CODEX_SANDBOX_NETWORK_DISABLED=1" in output
    assert site.asked == []


def test_a_project_cannot_enable_the_network(ferrule_home, turn, site):
    ferrule_home.configure(tables=f'[projects."{ferrule_home.workspace}"]\ntrust_level = "trusted"')
    folder = ferrule_home.workspace / ".ferrule"
    folder.mkdir()
    (folder / "config.toml").write_text(
        '[network]\nenabled = true\nlocal_addresses = ["127.0.0.1"]\n'
        f'rules = ["allow network host:127.0.0.1 port:{site.port}"]\n'
    )

    (output,) = turn(f"curl -sS http://127.0.0.1:{site.port}/")

    assert "the page" not in output
    assert site.asked == []


def test_programs_that_know_only_socks_reach_it_at_the_same_port(configured, turn, site):
    configured(f"allow network protocol:socks5_tcp host:127.0.0.1 port:{site.port}")

    plain, with_password = turn(
        f"curl -sS -x socks5h://${{FERRULE_NETWORK_PROXY##*@}} http://127.0.0.1:{site.port}/",
        f"curl -sS -x $FERRULE_NETWORK_SOCKS http://127.0.0.1:{site.port}/",
    )

    assert "the page" in plain
    assert "the page" in with_password


def test_commands_at_the_same_time_are_told_apart(configured, turn, site, run_ferrule):
    configured()
    other = "curl -sS -o /dev/null http://evil.test/"
    url = f"http://127.0.0.1:{site.port}"

    turn(f"for i in 1 2 3; do curl -sS {url}/a; done & {other}; wait", f"curl -sS {url}/b")

    by_path = {one["path"]: one["call"] for one in logged(run_ferrule) if one["kind"] == "allowed"}
    assert by_path == {"/a": "c0", "/b": "c1"}
    assert [one["call"] for one in logged(run_ferrule, "--refused")] == ["c0"]


def test_a_killed_session_closes_the_connections_of_its_commands(
    configured, ferrule_home, model_server, site
):
    configured()
    line = f"curl -sS http://127.0.0.1:{site.port}/wait"
    model_server.play([[function_call("exec_command", {"cmd": line, "login": False})]])
    words = ferrule_home.command(["exec", "-s", "workspace-write", "go"])
    with subprocess.Popen(
        words,
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as session:
        assert site.waiting.wait(120)
        session.send_signal(signal.SIGKILL)

    assert site.gone.wait(120)


@pytest.mark.parametrize(("decision", "page"), [("accept", True), ("decline", False)])
def test_an_unknown_host_is_asked_about_with_the_command_that_wants_it(
    configured, turn, site, ferrule_home, decision, page
):
    program, seen = ferrule_home.path / "review.py", ferrule_home.path / "seen"
    program.write_text(REVIEW)
    command = json.dumps([sys.executable, str(program), str(seen), decision])
    ferrule_home.configure(
        tables=(
            f"[reviewers.command.script]\ncommand = {command}\n"
            '[network]\nenabled = true\nunknown = "ask"\nlocal_addresses = ["127.0.0.1"]\n'
        )
    )
    line = f"curl -sS http://127.0.0.1:{site.port}/; echo then"

    (output,) = turn(
        line, approval="on-request", words=("-c", 'approvals_reviewer="command:script"')
    )

    assert ("the page" in output) is page
    assert ("is refused: no rule speaks for it" in output) is not page
    assert ("says the script" in output) is not page
    assert "then" in output
    (request,) = map(json.loads, seen.read_text().splitlines())
    assert request["network"] == {"host": "127.0.0.1", "port": site.port, "protocol": "http"}
    assert request["call"]["arguments"]["cmd"] == line


def test_five_hundred_connections_at_once_come_through(configured, turn, site):
    configured()
    code = (
        "import socket, sys\n"
        "where = ('127.0.0.1', int(sys.argv[2]))\n"
        "links = [socket.create_connection(where) for _ in range(500)]\n"
        "for link in links:\n"
        "    link.sendall(f'GET http://127.0.0.1:{sys.argv[1]}/ HTTP/1.0\\r\\n\\r\\n'.encode())\n"
        "def page(link):\n"
        "    data = b''\n"
        "    while piece := link.recv(4096):\n"
        "        data += piece\n"
        "    return data\n"
        "print(sum(b'the page' in page(link) for link in links))\n"
    )

    (output,) = turn(
        f"ulimit -n 2048; python3 -c {shlex.quote(code)} {site.port} ${{FERRULE_NETWORK_PROXY##*:}}"
    )

    assert "500" in output.splitlines(), output


def test_pip_installs_from_an_index_through_the_proxy(configured, turn, site, ferrule_home):
    name, wheel = "tinything-1.0-py3-none-any.whl", tiny_wheel()
    digest = hashlib.sha256(wheel).hexdigest()
    site.pages["/simple/tinything/"] = (
        f'<a href="/files/{name}#sha256={digest}">{name}</a>'.encode()
    )
    site.pages[f"/files/{name}"] = wheel
    configured()
    pip = f"{python_with_pip()} -m pip"
    index = f"http://127.0.0.1:{site.port}/simple/"

    (output,) = turn(
        f"{pip} install -q --disable-pip-version-check --no-cache-dir --target lib"
        f" -i {index} --trusted-host 127.0.0.1 tinything"
    )

    assert (ferrule_home.workspace / "lib" / "tinything.py").exists(), output
    assert "/simple/tinything/" in site.asked


def python_with_pip():
    """An interpreter that has pip: that of the environment, or the one it was made from."""
    for python in (sys.executable, f"{sys.base_prefix}/bin/python3", "/usr/bin/python3"):
        call = [python, "-m", "pip", "--version"]
        if Path(python).exists() and subprocess.run(call, capture_output=True).returncode == 0:
            return python
    pytest.skip("no interpreter here has pip")


def tiny_wheel():
    """Build a wheel with one module."""
    files = {
        "tinything.py": b"VALUE = 1\n",
        "tinything-1.0.dist-info/METADATA": (
            b"Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n"
        ),
        "tinything-1.0.dist-info/WHEEL": (
            b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},"
        f"{len(data)}\n"
        for path, data in files.items()
    )
    files["tinything-1.0.dist-info/RECORD"] = (
        record + "tinything-1.0.dist-info/RECORD,,\n"
    ).encode()
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return packed.getvalue()


def test_a_service_beside_the_allowed_one_stays_out_of_reach(configured, turn):
    configured()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        (output,) = turn(f"curl -sS http://127.0.0.1:{port}/")
    assert f"127.0.0.1:{port} is refused" in output
