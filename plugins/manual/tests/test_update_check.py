"""`ferrule update-check`: what is asked, of whom, and what is said."""

import base64
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import ferrule
from ferrule_manual.installer import how_to_upgrade

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Answers:
    """A package index, or a proxy, on this machine."""

    url: str = ""
    status: int = 200
    kind: str = JSON
    body: str = ""
    location: str = ""
    requests: list = field(default_factory=list)

    def offer(self, *versions, yanked=()):
        files = [
            {"filename": f"ferrule-{version}-py3-none-any.whl", "yanked": version in yanked}
            for version in versions
        ]
        files += [
            {"filename": f"ferrule-{version}.tar.gz", "yanked": ""} for version in versions[:1]
        ]
        files += [{"filename": "ferrule-0.1.0.win32.exe"}, {"filename": "ferrule_core-99.0.tar.gz"}]
        self.body = json.dumps({"files": files})


def serve(answers):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answers.requests.append((self.path, dict(self.headers)))
            self.send_response(answers.status)
            self.send_header("Content-Type", answers.kind)
            if answers.location:
                self.send_header("Location", answers.location)
            self.end_headers()
            self.wfile.write(answers.body.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    answers.url = f"http://127.0.0.1:{server.server_port}/simple"
    return server


@pytest.fixture
def index():
    answers = Answers()
    server = serve(answers)
    yield answers
    server.shutdown()
    server.server_close()


@pytest.fixture
def other():
    answers = Answers()
    server = serve(answers)
    yield answers
    server.shutdown()
    server.server_close()


@pytest.fixture
def check(run_ferrule, ferrule_home, index):
    """Run the command with the index named by a variable."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        ferrule_home.environ.pop(name, None)
    ferrule_home.environ["no_proxy"] = ""

    def run(*arguments, **environ):
        return run_ferrule(
            "update-check", *arguments, environ={"PIP_INDEX_URL": index.url} | environ
        )

    return run


def test_a_newer_version_is_named_with_the_command_that_installs_it(check, index):
    index.offer("0.0.9", "99.1.0", "100.0rc1")

    told = check()

    assert (told.returncode, told.stderr) == (0, "")
    expected = f"Ferrule 99.1.0 is available, installed is {ferrule.__version__}. To upgrade: git "
    assert told.stdout.startswith(expected)
    ((path, headers),) = index.requests
    assert path == "/simple/ferrule/"
    assert headers["Accept"].startswith(JSON)


def test_the_newest_version_is_said_to_be_the_newest(check, index):
    index.offer("0.0.9", ferrule.__version__)

    assert "is up to date" in check().stdout


def test_prereleases_count_only_when_asked_for(check, index):
    index.offer("0.0.9", "100.0rc1")

    assert "is up to date" in check().stdout
    assert "Ferrule 100.0rc1 is available" in check("--pre").stdout


def test_what_was_taken_back_does_not_count(check, index):
    index.offer("0.0.9", "99.1.0", yanked=("99.1.0",))

    assert "is up to date" in check().stdout


def test_as_json(check, index):
    index.offer("99.1.0")

    facts = json.loads(check("--json").stdout)

    assert facts["installed"] == ferrule.__version__
    assert facts["newest"] == "99.1.0"
    assert facts["updateAvailable"] is True
    assert facts["index"] == index.url
    assert facts["installer"] == "checkout"
    assert facts["upgrade"].endswith(" pull")


def test_an_index_that_has_only_html(check, index):
    index.kind = "text/html"
    index.body = (
        '<a href="x">ferrule-99.1.0-py3-none-any.whl</a><br>'
        '<a data-yanked="bad" href="y">ferrule-99.2.0-py3-none-any.whl</a>'
    )

    assert "Ferrule 99.1.0 is available" in check().stdout


@pytest.mark.parametrize(
    "way",
    [
        lambda url, path: (("--index-url", url), {"PIP_INDEX_URL": "http://127.0.0.1:1/"}),
        lambda url, path: ((), {"UV_DEFAULT_INDEX": f"ours={url}/"}),
        lambda url, path: ((), {"UV_INDEX_URL": url, "PIP_INDEX_URL": "http://127.0.0.1:1/"}),
        lambda url, path: (
            (),
            {
                "PIP_INDEX_URL": "",
                "PIP_CONFIG_FILE": path.write_text(f"[global]\nindex-url={url}\n") and str(path),
            },
        ),
    ],
    ids=["option", "uv", "uv-old", "pip-file"],
)
def test_the_index_is_the_configured_one(check, index, tmp_path, way):
    index.offer("99.1.0")
    arguments, environ = way(index.url, tmp_path / "pip.conf")

    assert "Ferrule 99.1.0" in check(*arguments, **environ).stdout


def test_a_proxy_of_the_environment_is_used(check, other):
    other.offer("99.1.0")
    proxy = other.url.removesuffix("/simple")

    told = check(PIP_INDEX_URL="http://index.example.com/simple", http_proxy=proxy)

    assert "Ferrule 99.1.0" in told.stdout
    assert other.requests[0][0] == "http://index.example.com/simple/ferrule/"


def test_name_and_password_reach_the_index_alone_and_are_never_shown(check, index, other):
    other.offer("99.1.0")
    index.status, index.location = 302, other.url + "/ferrule/"
    url = index.url.replace("//", "//me:s%40crt@")

    told = check("--json", PIP_INDEX_URL=url)

    sent = index.requests[0][1]["Authorization"]
    assert sent == "Basic " + base64.b64encode(b"me:s@crt").decode()
    assert "Authorization" not in other.requests[0][1]
    assert json.loads(told.stdout)["index"] == index.url
    index.status, index.location = 403, ""
    assert "s%40crt" not in check(PIP_INDEX_URL=url).stderr


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, "", "answers 404 Not Found: it does not know 'ferrule'"),
        (503, "", "answers 503"),
        (200, "<html>login</html>", "gave an answer that is no index page"),
        (200, '{"files": []}', "has no version of 'ferrule'"),
    ],
    ids=["unknown", "busy", "not-an-index", "empty"],
)
def test_an_index_that_cannot_tell_is_one_sentence(check, index, status, body, told):
    index.status, index.body = status, body

    run = check()

    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("error: the ")
    assert told in run.stderr
    assert run.stderr.count("\n") == 1


def test_offline_is_one_sentence(check):
    run = check(PIP_INDEX_URL="http://127.0.0.1:1/simple")

    assert run.returncode == 1
    assert "http://127.0.0.1:1/simple cannot be reached" in run.stderr
    assert run.stderr.count("\n") == 1


def test_only_the_web_is_asked(check):
    run = check(PIP_INDEX_URL="file:///etc")

    assert run.returncode == 1
    assert "is not an http or https address" in run.stderr


def test_wrong_usage(check):
    wrong = check("--jsn")
    assert wrong.returncode == 2
    assert "unexpected '--jsn'; did you mean '--json'?" in wrong.stderr
    assert check("--help").returncode == 0


@pytest.mark.parametrize(
    ("file", "installer", "command"),
    [
        ("uv-receipt.toml", "uv tool", "uv tool upgrade ferrule"),
        ("pipx_metadata.json", "pipx", "pipx upgrade ferrule"),
    ],
)
def test_the_installer_is_known_by_what_it_leaves(tmp_path, file, installer, command):
    prefix = tmp_path / "ferrule"
    prefix.mkdir()
    (prefix / file).touch()

    assert how_to_upgrade(prefix) == (installer, command)
