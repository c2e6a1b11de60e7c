"""The contract of sandbox backends, and commands that run in real containers."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from ferrule_hookspecs import Command, PluginContext, ResolvedPolicy, SandboxUnavailableError
from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_hookspecs.sandbox import WritableRoot
from ferrule_testkit import SandboxConformance
from ferrule_testkit.home import make_home
from ferrule_testkit.model_items import function_call, message
from gallery_box.backend import BoxBackend
from gallery_box.settings import BoxSettings

CHECKOUT = str(Path(__file__).parents[1])
POLICY = ResolvedPolicy("workspace-write", "/work", (WritableRoot("/work"),))
CONFIG = """
sandbox_backend = "box"
sandbox_accept_gaps = ["missing_names"]
"""


@pytest.mark.slow
class TestBoxBackend(SandboxConformance):
    """Every rule of the contract, tried on this backend."""

    @pytest.fixture(autouse=True)
    def _with_an_engine(self, engine):
        self.engine = engine

    @pytest.fixture
    def workspace(self, place):
        """A folder that podman's user may write."""
        folder = place / "workspace"
        folder.mkdir()
        folder.chmod(0o777)
        return folder.resolve()

    def make(self, context):
        """Return the backend."""
        return BoxBackend(context._replace(settings=self.engine))


@pytest.mark.slow
def test_commands_of_a_session_run_in_containers(engine, place, model_server):
    home = make_home(place / "ferrule", model_server.base_url)
    home.workspace.chmod(0o777)
    (home.workspace / "kept").mkdir()
    lines = "\n".join(f'{key} = "{value}"' for key, value in engine.items())
    home.configure(top=CONFIG, tables=f"[plugins.settings.box]\n{lines}\n")
    script = (
        "ls /; echo hi > made; echo x > .git/config || echo held; "
        "touch /bin/no || echo held; wget -q -T 3 http://127.0.0.1:1 || echo held; ls /home /etc"
    )
    call = function_call("exec_command", {"cmd": script, "shell": "/bin/sh", "login": False})
    model_server.play([[call], [message("done")]])

    run = home.run("--dev-plugin", CHECKOUT, "exec", "--json", "go")

    assert run.returncode == 0, run.stderr
    (ran,) = run.items("command_execution")
    assert ran["aggregated_output"].count("held") == 3, run.stderr
    assert "srv" not in ran["aggregated_output"], "it sees this machine"
    assert (home.workspace / "made").read_text() == "hi\n"
    assert not run.survivors


@pytest.fixture
def backend(tmp_path):
    """Make a backend whose engine says yes to everything."""

    def make(name="podman", **settings):
        program = tmp_path / name
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        settings = {"engine": str(program), "image": "house", **settings}
        return BoxBackend(PluginContext(tmp_path, {}, settings=settings))

    return make


@pytest.mark.parametrize(
    "changed",
    [
        {"readable_roots": ()},
        {"unix_sockets": ("/run/x",)},
        {"unconfined": True},
        {"writable_roots": (WritableRoot("/"),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_it_cannot_do_is_refused(backend, changed):
    with pytest.raises(PolicyUnenforceableError, match="the sandbox box cannot do this"):
        backend().prepare(POLICY._replace(**changed), Command(("true",), "/work", {}))


@pytest.mark.parametrize("name", ["/work,source=/", "/work\nx", '/work"'])
def test_a_name_that_the_engine_would_misread_is_refused(backend, name):
    policy = POLICY._replace(writable_roots=(WritableRoot(name),))

    with pytest.raises(SandboxUnavailableError, match="cannot be told"):
        backend().prepare(policy, Command(("true",), "/work", {}))


@pytest.mark.parametrize("image", ["--privileged", "-v/:/host", "an image"])
def test_an_image_is_no_option(image):
    with pytest.raises(ValidationError, match="image"):
        BoxSettings(image=image)


def test_without_an_image_it_says_what_to_set(backend):
    with pytest.raises(SandboxUnavailableError, match=r"plugins\.settings\.box\.image"):
        backend(image="").prepare(POLICY, Command(("true",), "/work", {}))


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_it_shows_the_workspace_and_keeps_what_is_protected(backend, tmp_path, name):
    for folder in ("hooks", "secrets"):
        (tmp_path / folder).mkdir()
    hooks, hidden, work = (str(tmp_path / part) for part in ("hooks", "secrets", ""))
    root = WritableRoot(work.rstrip("/"), read_only=(hooks,))
    policy = ResolvedPolicy("workspace-write", root.path, (root,), deny_read=(hidden, "/root/x"))

    argv = backend(name).prepare(policy, Command(("ls", "a b"), root.path, {"A": "b c"})).argv

    mounts = [word.removeprefix("--mount=") for word in argv if word.startswith("--mount=")]
    assert mounts == [
        "type=tmpfs,destination=/tmp,tmpfs-mode=1777",
        f"type=bind,source={root.path},destination={root.path}",
        f"type=bind,source={hooks},destination={hooks},readonly",
        f"type=tmpfs,destination={hidden},tmpfs-mode=0000",
    ]
    assert {"--network=none", "--cap-drop=ALL", "--read-only", "--env=A=b c"} <= {*argv}
    assert any(word.startswith("--user=") for word in argv) is (name == "docker")
    assert argv[-2:] == ("ls", "a b")
