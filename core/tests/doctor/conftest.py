"""`ferrule doctor --json` in a home of its own, and what it is to find wrong."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from textwrap import dedent

import pytest


@dataclass(frozen=True)
class Report:
    """What the doctor said."""

    returncode: int
    document: dict
    text: str

    def __getitem__(self, check_id):
        found = [check for check in self.document["checks"] if check["id"] == check_id]
        assert found, f"no {check_id} among {self.ids}"
        return found[0]

    @property
    def ids(self):
        return [check["id"] for check in self.document["checks"]]

    def status(self, check_id):
        return self[check_id]["status"]


@pytest.fixture
def doctor(ferrule_home):
    """Run `ferrule doctor --json` with more arguments."""

    def run(*arguments, **options):
        ran = ferrule_home.run("doctor", "--json", *arguments, **options)
        assert ran.survivors == {}
        assert ran.stdout, ran.stderr
        return Report(ran.returncode, json.loads(ran.stdout), ran.stdout + ran.stderr)

    return run


@pytest.fixture
def checkout(tmp_path):
    """Write a plugin's project; returns the environment that makes Ferrule use it."""

    def write(name, group, source, target=""):
        folder = tmp_path / "checkouts" / name
        package = folder / "src" / f"{name}_plugin"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(dedent(source))
        (folder / "pyproject.toml").write_text(
            f'[project]\nname = "{name}-plugin"\nversion = "1.0"\n'
            f'[project.entry-points."{group}"]\n{name} = "{name}_plugin{target}"\n'
        )
        return {"FERRULE_DEV_PLUGIN": str(folder)}

    return write


class ModelList(ThreadingHTTPServer):
    """A server that answers every request in the same way, and notes what it was asked."""

    daemon_threads = True

    def __init__(self, status, body, headers):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = status, body, headers
        self.asked = []

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        status, body, headers = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """Start a server with a status and a JSON body."""
    servers = []

    def start(status, body=None, **headers):
        server = ModelList(status, json.dumps(body).encode(), headers)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
