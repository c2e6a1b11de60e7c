"""The plugins of the gallery, built and installed beside each other as their users would."""

import json
import subprocess
import threading
import tomllib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

ROOT = Path(__file__).parents[3]
GALLERY = sorted(path.parent for path in (ROOT / "docs/gallery").glob("*/pyproject.toml"))
TICKET = {"title": "the door squeaks", "body": ""}
LONGEST = 15  # lines of the author's own in a tool


def distribution_of(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"]


@contextmanager
def tracker():
    """A tracker on this machine; yields its URL and what was filed."""
    filed = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            filed.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(201)
            self.end_headers()
            self.wfile.write(b'{"url": "https://tickets.example.com/7"}')

        def log_message(self, *arguments):
            """Nobody looks at it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False  # none that answers is left behind
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/tickets", filed
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def whole(lean_environment, tmp_path):
    """A bare environment with the lean set, the commands of `ferrule plugins`, and all eight."""
    out = tmp_path / "gallery"
    for folder in GALLERY:
        command = ["uv", "build", "--wheel", "-q", "-o", str(out), str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    lean_environment.install(
        "ferrule-core[commands]", "ferrule-author", *map(str, sorted(out.glob("*.whl")))
    )
    return lean_environment


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_eight_are_installed_checked_and_used(whole, run_in, ferrule_home, model_server):
    names = sorted(map(distribution_of, GALLERY))
    listed = run_in(whole, "plugins", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    found = {entry["distribution"] for entry in json.loads(listed.stdout)["plugins"]}
    assert len(names) == 8
    assert set(names) <= found, listed.stderr
    for name in names:
        checked = run_in(whole, "plugins", "check", name)
        assert checked.returncode == 0, checked.stdout + checked.stderr

    model_server.play([[function_call("file_ticket", TICKET)], [message("done")]])
    with tracker() as (url, filed):
        table = f'[plugins.settings.ticket]\nurl = "{url}"\ntoken = "a token"\n'
        ferrule_home.configure(tables=table)
        run = run_in(whole, "exec", "--json", "file it")
    report = run_in(whole, "threads-report", "--json")

    assert run.returncode == 0, run.stderr
    assert "plugin 'metrics'" not in run.stdout, run.stdout
    assert filed == [TICKET]
    output = model_server.requests[-1].body["input"][-1]["output"]
    assert output == "filed as https://tickets.example.com/7"
    metrics = (ferrule_home.path / "metrics.prom").read_text()
    assert 'ferrule_tool_calls_total{tool="file_ticket",outcome="completed"} 1\n' in metrics
    assert json.loads(report.stdout)["requests"] == 2


def test_a_tool_takes_few_lines_of_one_s_own():
    """All lines of the module but imports, docstrings, comments and what is blank."""
    text = (ROOT / "docs/gallery/ticket-tool/src/gallery_ticket/tool.py").read_text()
    lines = [line.strip() for line in text.splitlines()]
    left_out = ("import ", "from ", "#", '"""')
    own = [line for line in lines if line and not line.startswith(left_out)]

    assert len(own) <= LONGEST, own


@pytest.mark.parametrize("folder", GALLERY, ids=lambda folder: folder.name)
def test_it_stands_on_the_contract_alone_and_has_its_page(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    ours = [name for name in project["dependencies"] if name.startswith("ferrule")]
    page = (ROOT / "docs/gallery/README.md").read_text()

    assert ours == ["ferrule-hookspecs>=0.1,<1"]
    assert f"[{folder.name}]({folder.name}/README.md)" in page
    assert list(folder.glob("tests/test_*.py"))
