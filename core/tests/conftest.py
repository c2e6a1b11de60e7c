"""A kernel with the plugins of `kernel_plugins`, driven through its public surface."""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

CHECKOUT = Path(__file__).parent / "kernel_plugins"
sys.path.insert(0, str(CHECKOUT / "src"))

from kernel_plugins import stage as the_stage  # noqa: E402 -- found through the line above

from ferrule.config.load import Places, read_config  # noqa: E402
from ferrule.host import LocalHost  # noqa: E402
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions  # noqa: E402
from ferrule_testkit.strangers import strangers  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
CHECKOUT_NOTICE = "development plugins take part"
CONFIG = """\
model = "test-model"
model_provider = "staged"
approvals_reviewer = "staged"
sandbox_backend = "staged"
approval_policy = "never"
sandbox_mode = "workspace-write"
sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }
[model_providers.staged]
name = "Staged"
wire_api = "staged"
"""


@pytest.fixture
def stage():
    """What the plugins do and saw."""
    the_stage.reset()
    yield the_stage
    the_stage.reset()


@dataclass
class Bench:
    """A home, a workspace and a host."""

    folder: Path
    host: LocalHost
    workspace: Path
    events: list = field(default_factory=list)

    def configure(self, text):
        (self.host.home / "config.toml").write_text(text + "\n" + CONFIG)

    def set_key(self, key, value):
        """Put a key at the top of the configuration, in place of what is said there."""
        path = self.host.home / "config.toml"
        lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key} =")]
        path.write_text(f"{key} = {value}\n" + "\n".join(lines))

    def options(self, kernel, **changes):
        flags = changes.pop("flags", {})
        config = kernel.config(ConfigRequest(cwd=str(self.workspace), flags=flags))
        return ThreadOptions(**({"config": config, "cwd": str(self.workspace)} | changes))

    def run(self, script, *, resume=None, **changes):
        """Open a thread, run an async function with it, close it; returns the session."""

        async def main(kernel):
            options = self.options(kernel, **changes)
            if resume is None:
                session = await kernel.threads.start(options)
            else:
                session = await kernel.threads.resume(resume, options)
            async with anyio.create_task_group() as group:
                group.start_soon(self.read, session)
                await script(session)
                await session.close()
            return session

        return self.host.run(main)

    async def start(self, session, text="go", **params):
        """Submit input."""
        content = [{"type": "text", "text": text}]
        params = {"threadId": session.thread["id"], "input": content} | params
        await session.submit({"id": "1", "method": "turn/start", "params": params})

    async def perform(self, session, method, **params):
        """Have an operation taken; raises what refuses it."""
        params = {"threadId": session.thread["id"], **params}
        return await session.perform({"id": "1", "method": method, "params": params})

    async def read(self, session):
        async for event in session.events():
            # That the stage is a checkout is told in every session, and not what tests are about.
            if CHECKOUT_NOTICE not in str(event["params"].get("message")):
                self.events.append(event)

    def turn(self, text="go", **changes):
        """Run one turn to its end."""

        async def script(session):
            await self.start(session, text)
            await self.until("turn/completed")

        return self.run(script, **changes)

    async def until(self, method, count=1):
        """Wait until that many events of a kind have been read."""
        with anyio.fail_after(120):
            while len(self.of(method)) < count:
                await anyio.sleep(0.001)

    async def until_asked(self, stage):
        """Wait until the model has been asked: from then on the turn's script is in use."""
        with anyio.fail_after(120):
            while not stage.requests:
                await anyio.sleep(0.001)

    def of(self, method):
        return [event["params"] for event in self.events if event["method"] == method]

    def items(self, type_):
        items = [params["item"] for params in self.of("item/completed")]
        return [item for item in items if item["type"] == type_]

    def outputs(self, stage, request=-1):
        """What the model read back, by call id."""
        sent = stage.requests[request].input
        return {i["call_id"]: i["output"] for i in sent if i["type"].endswith("_output")}


@pytest.fixture
def bench(tmp_path, stage):
    """A kernel to run turns in."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "FERRULE_DEV_PLUGIN": str(CHECKOUT),
        "FERRULE_NO_PLUGIN": strangers(),
    }
    made = Bench(tmp_path, LocalHost(home, environ), workspace)
    made.configure("")
    return made


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """Set what the administrator requires."""
    admin = tmp_path / "etc"
    admin.mkdir()

    monkeypatch.setattr(LocalHost, "admin", admin)
    return lambda text: (admin / "requirements.toml").write_text(text)


class ConfigSetup:
    """A home, an administrator's folder and a project with its file, all empty."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.admin = root / "etc"
        self.project = root / "project"
        self.file = self.project / ".ferrule" / "config.toml"
        self.environ = {"HOME": str(root / "user")}
        for folder in (self.home, self.admin, self.project / ".git"):
            folder.mkdir(parents=True)

    def user(self, text: str = "", trust: str | None = "trusted") -> None:
        table = f'\n[projects."{self.project}"]\ntrust_level = "{trust}"\n' if trust else ""
        (self.home / "config.toml").write_text(text + table)

    def rules(self, text: str) -> None:
        (self.admin / "requirements.toml").write_text(text)

    def project_file(self, text: str, folder: str = ".ferrule") -> None:
        file = self.project / folder / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def load(self, project: str | None = None, **options):
        if project is not None:
            self.project_file(project)
        request = ConfigRequest(cwd=str(options.pop("cwd", self.project)), **options)
        return read_config(request, Places(self.home, self.environ, self.admin))


@pytest.fixture
def setup(tmp_path):
    """Files of a configuration, and loading it."""
    return ConfigSetup(tmp_path)


class Program:
    """Runs `ferrule` in a home of its own that does not exist yet."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.cwd = root
        self.home = root / "home"
        self.file = self.home / "config.toml"
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(root),
            "FERRULE_HOME": str(self.home),
            "XDG_CACHE_HOME": str(cache),
        }

    def __call__(self, *argv: str, **environ: str):
        return self.python("-m", "ferrule", *argv, **environ)

    def python(self, *argv: str, **environ: str):
        return self._run([sys.executable, *argv], environ)

    def bash(self, script: str):
        return self._run(["bash", "--norc", "-c", script], {})

    def _run(self, argv: list[str], environ: dict[str, str]):
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            env={**self.environ, **environ},
            cwd=self.cwd,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="session")
def index_cache(tmp_path_factory):
    """One cache of the index for all runs, so that plugins are probed once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def ferrule(tmp_path, index_cache):
    """The program in a fresh home."""
    return Program(tmp_path, index_cache)


@pytest.fixture
def ordinary_process():
    """Orphans go to `init`, as in most programs; kernels of other tests make them come here."""
    if sys.platform != "linux":
        yield
        return
    libc, was = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, was.value, 0, 0, 0)
