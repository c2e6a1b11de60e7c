"""`ferrule sandbox explain`: what was refused, and the smallest grant that would help."""

import json
import socket

import pytest

WRITE = ("-s", "workspace-write")
NO_SCRATCH = (
    *("-c", "sandbox_workspace_write.exclude_slash_tmp=true"),
    *("-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true"),
)


@pytest.fixture
def explain(place):
    """Explain a command; returns what is told, with the run itself under `run`."""

    def explain(*words, options=WRITE, env=()):
        run = place.ferrule(
            "sandbox", "explain", "--json", *NO_SCRATCH, *options, "--", *words, env=env
        )
        assert run.stdout.startswith("{"), run.stderr
        return {**json.loads(run.stdout), "run": run}

    return explain


def refused(told):
    return [(each["kind"], each["subject"]) for each in told["refused"]]


def test_what_works_is_refused_nothing(explain):
    told = explain("sh", "-c", "echo said; touch file")

    assert (told["refused"], told["grants"], told["exit_code"]) == ([], [], 0)
    assert told["run"].stderr == "said\n"


def test_the_exit_code_is_the_commands(explain):
    assert explain("sh", "-c", "exit 42")["run"].returncode == 42


def test_a_folder_is_granted_and_tried(explain, place):
    shelf = place.home / "shelf"
    shelf.mkdir()
    told = explain("touch", str(shelf / "file"), options=(*WRITE, "--try"))

    assert refused(told) == [("write", str(shelf / "file"))]
    (grant,) = told["grants"]
    assert grant["options"] == ["--add-dir", str(shelf)]
    assert grant["config"] == f'sandbox_workspace_write.writable_roots = ["{shelf}"]'
    assert (told["exit_code"], told["tried"]["exit_code"]) == (1, 0)
    assert told["run"].returncode == 0
    assert (shelf / "file").exists()


def test_of_a_missing_folder_in_the_home_no_more_than_itself_is_granted(explain, place):
    told = explain("mkdir", str(place.home / "shelf"))

    (grant,) = told["grants"]
    assert grant["options"] == ["--add-dir", str(place.home / "shelf")]
    assert grant["before"] == f"mkdir -p {place.home}/shelf"


def test_the_home_as_a_whole_is_never_proposed(explain, place):
    (place.home / ".profile").touch()
    told = explain("sh", "-c", f"echo x >> {place.home}/.profile")

    assert told["grants"] == []
    assert "all of your home" in told["ungrantable"][0]


def test_what_is_protected_is_said_so(explain, place):
    told = explain("touch", str(place.project / ".git" / "hooks" / "pre-commit"))

    assert refused(told)[0][0] == "write"
    assert told["grants"] == []
    assert "is protected" in told["ungrantable"][0]


def test_credentials_are_no_grant(explain, place):
    (place.home / ".netrc").write_text("secret")
    told = explain("cat", str(place.home / ".netrc"))

    assert refused(told) == [("read", str(place.home / ".netrc"))]
    assert told["grants"] == []
    assert "on purpose" in told["ungrantable"][0]


def test_in_read_only_mode_the_workspace_needs_another_mode(explain):
    told = explain("touch", "file", options=("-s", "read-only", "--try"))

    assert [grant["options"] for grant in told["grants"]] == [["-s", "workspace-write"]]
    assert told["tried"]["exit_code"] == 0


def test_a_tool_that_writes_to_its_cache_is_given_its_recipe(explain, place, mirror, tool):
    tool("npm")
    (place.project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    network = ("-c", "sandbox_workspace_write.network_access=true")
    told = explain(
        *("npm", "install", "lantern"),
        options=(*WRITE, *network, "--try"),
        env={"npm_config_registry": f"{mirror.url}/npm"},
    )

    assert told["grants"][0]["config"] == 'sandbox_recipes = ["npm"]'
    assert told["tried"]["exit_code"] == 0


def test_a_host_is_granted_by_a_rule_of_the_managed_network(explain, mirror, tool):
    tool("curl")
    told = explain("curl", "-sSf", f"{mirror.url}/npm/lantern", options=(*WRITE, "--try"))

    assert refused(told) == [("network", f"127.0.0.1:{mirror.port}")]
    (grant,) = told["grants"]
    rule = f"allow network protocol:http host:127.0.0.1 port:{mirror.port}"
    assert f'network.rules = ["{rule}"]' in grant["config"].splitlines()
    assert told["tried"]["exit_code"] == 0


def test_what_the_managed_network_refuses_is_known(explain, tool):
    tool("curl")
    told = explain(
        *("curl", "-sS", "https://forge.example"),
        options=(*WRITE, "-c", "network.enabled=true"),
    )

    (found,) = told["refused"]
    assert (found["subject"], found["is_inferred"]) == ("forge.example:443", False)
    (grant,) = told["grants"]
    assert grant["config"] == 'network.rules = ["allow network protocol:https host:forge.example"]'


def test_a_host_that_cannot_be_looked_up_is_named(explain, tool):
    tool("curl")
    told = explain("curl", "-sS", "https://forge.example")

    assert refused(told) == [("network", "forge.example:443")]
    assert "network.enabled = true" in told["grants"][0]["config"]


def test_the_recipe_of_a_socket_is_named_with_its_risk(explain, place, socket_folder):
    path = socket_folder / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        code = f"echo 'cannot connect to unix://{path}, docker: connection refused' >&2; exit 1"
        told = explain(
            *("sh", "-c", f"{code} # docker"), env={"XDG_RUNTIME_DIR": str(socket_folder)}
        )

    assert refused(told) == [("socket", str(path))]
    (grant,) = told["grants"]
    assert grant["config"] == 'sandbox_recipes = ["docker"]'
    assert "is root on this machine" in grant["risk"]


def test_without_json_all_is_said_beside_the_output(place):
    run = place.ferrule(
        "sandbox",
        "explain",
        *NO_SCRATCH,
        *WRITE,
        "--",
        "sh",
        "-c",
        f"echo out; touch {place.home}/x/y",
    )

    assert run.stdout == "out\n"
    assert run.returncode == 1
    assert "sandbox: bubblewrap, workspace-write; the command ended with 1" in run.stderr
