"""R4: `--safe-mode` and `--no-plugin` act before discovery; the host can always list and remove."""

import shutil
from dataclasses import replace

import pytest

from ferrule_hookspecs.slots import ALL_GROUPS
from ferrule_testkit.model_items import message


@pytest.fixture
def hostile(twin, hooks_package, tmp_path):
    """A plugin in every group that ends whatever imports it, and what it writes when it does."""
    ran = tmp_path / "ran"
    source = f"open({str(ran)!r}, 'a').close()\nimport os\nos._exit(66)\n"
    package = hooks_package("hostile", source)
    points = {f"{group}:hostile": "acme_hostile" for group in ALL_GROUPS}
    twin.put(replace(package, points=points))
    return ran


@pytest.mark.parametrize(
    "option", [("--safe-mode",), ("--no-plugin", "acme-hostile")], ids=lambda words: words[0]
)
def test_r04_a_plugin_hostile_in_every_group_is_left_out_before_any_of_it_runs(
    twin, hostile, model_server, option
):
    model_server.play([[message("done")]])
    finished = twin.run(*option, "exec", "--json", "go")
    assert finished.returncode == 0, finished.stderr
    assert finished.items("agent_message")[0]["text"] == "done"
    assert not hostile.exists()


def test_r04_a_plugin_hostile_in_every_group_can_be_listed_and_removed(twin, hostile):
    listed = twin.run("--safe-mode", "plugins", "list")
    assert "ferrule.plugins:hostile  disabled" in listed.stdout, listed.stderr
    assert not hostile.exists()

    if shutil.which("uv") is None:
        twin.give_pip()
    removed = twin.run("plugins", "remove", "acme-hostile")

    assert removed.returncode == 0, removed.stderr
    assert "acme_hostile" not in twin.versions()
