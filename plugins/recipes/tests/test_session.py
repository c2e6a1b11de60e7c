"""Commands of a session of `ferrule exec` under a recipe, with a scripted model."""

import importlib.util

import pytest

from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.package_mirror import package_mirror

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ferrule_shell") is None, reason="needs the shell tool"
)
SCRATCH = "sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }"


@pytest.fixture
def output_of(ferrule_home, model_server, run_ferrule):
    """Have the model run a command, and return what it said."""

    def output_of(script, *lines, mode="workspace-write"):
        ferrule_home.configure(top="\n".join([SCRATCH, *lines]))
        model_server.play([[function_call("exec_command", {"cmd": script})], [message("done")]])
        ended = run_ferrule("exec", "--json", "-s", mode, "--skip-git-repo-check", "go")
        assert ended.returncode == 0, ended.stderr
        return ended.items("command_execution")[-1]["aggregated_output"]

    return output_of


def test_a_command_finds_its_cache_and_may_write_it(output_of):
    script = 'touch "$PIP_CACHE_DIR/file" && echo written in $PIP_CACHE_DIR'

    output = output_of(script, 'sandbox_recipes = ["pip"]')

    assert "written in " in output
    assert "/ferrule/recipes/pip/" in output


def test_without_a_recipe_or_in_read_only_mode_it_is_told_of_none(output_of):
    script = "echo [$UV_LINK_MODE]"

    assert "[]" in output_of(script)
    assert "[]" in output_of(script, 'sandbox_recipes = ["uv"]', mode="read-only")


def test_a_recipe_that_nobody_offers_stops_the_session(ferrule_home, run_ferrule):
    ferrule_home.configure(top='sandbox_recipes = ["bakery"]')

    ended = run_ferrule("exec", "--skip-git-repo-check", "go")

    assert ended.returncode != 0
    assert "'bakery', which no plugin offers; there are: cargo, docker" in ended.stderr


def test_the_managed_network_of_a_session_reaches_the_mirror(output_of):
    with package_mirror() as mirror:
        output = output_of(
            f"curl -sS {mirror.url}/npm/lantern | head -c 20; curl -sS http://127.0.0.1:9/",
            'sandbox_recipes = ["npm"]',
            "[network]",
            "enabled = true",
            f'rules = ["allow network protocol:http host:127.0.0.1 port:{mirror.port}"]',
            'local_addresses = ["127.0.0.1"]',
        )

    assert '{"name": "lantern"' in output
    assert "127.0.0.1:9 is refused" in output
