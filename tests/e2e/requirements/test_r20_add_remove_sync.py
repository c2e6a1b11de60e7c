"""R20: plugins are added, removed and restored by the installer that Ferrule came by.

Here with pip and uv in an environment of ours; with `uv tool` and pipx, from real wheels of all
parts, in test_r20_tools.py.
"""

import shutil
import tomllib

import pytest


@pytest.fixture(params=[pytest.param("pip", marks=pytest.mark.slow), "uv"])
def place(request, twin):
    """An environment with pip, or without."""
    if request.param == "pip":
        twin.give_pip()
    elif shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    return twin


def wanted(home):
    return tomllib.loads((home.path / "plugins.toml").read_text()).get("plugin", [])


def test_r20_what_is_added_is_installed_wanted_restored_and_removed(
    place, hooks_package, ferrule_home, tmp_path
):
    wheels = tmp_path / "wheels"
    hooks_package("note", "").wheel(wheels)
    offline = ("--no-index", "--find-links", str(wheels))

    added = place.run("plugins", "add", "acme_note>=1", *offline)

    assert added.returncode == 0, added.stderr
    assert "install" in added.stderr.splitlines()[0]
    assert added.stderr.startswith("$ ")
    assert "acme-note 1.0 by Acme Corp, installed in" in added.stdout
    assert "runs in the process of Ferrule, with all of your rights and unconfined" in added.stdout
    assert "active        ferrule.plugins:note  (acme-note 1.0)" in added.stdout
    assert place.versions()["acme_note"] == "1.0"
    (item,) = wanted(ferrule_home)
    assert (item["name"], item["requirement"]) == ("acme-note", "acme_note>=1")
    assert (ferrule_home.path / "plugins.toml").stat().st_mode & 0o777 == 0o600

    place.forget("acme_note")  # as where the environment was made anew
    restored = place.run("plugins", "sync")
    assert restored.returncode == 0, restored.stderr
    assert place.versions()["acme_note"] == "1.0"
    assert "everything that" in place.run("plugins", "sync").stdout

    removed = place.run("plugins", "remove", "note")
    assert removed.returncode == 0, removed.stderr
    assert "acme_note" not in place.versions()
    assert wanted(ferrule_home) == []


def test_r20_what_needs_another_contract_is_refused_and_everything_stays(
    place, hooks_package, ferrule_home, tmp_path
):
    wheels = tmp_path / "wheels"
    hooks_package("future", "", requires=("ferrule-hookspecs>=9",)).wheel(wheels)
    before = place.versions()

    added = place.run("plugins", "add", "acme-future", "--no-index", "--find-links", str(wheels))

    assert added.returncode == 1
    installed = before["ferrule_hookspecs"]
    assert f"needs ferrule-hookspecs>=9, installed is {installed}" in added.stderr
    assert "error: acme-future" in added.stderr
    assert "upgrade Ferrule" in added.stderr
    assert "everything is as it was" in added.stderr
    assert place.versions() == before
    assert not (ferrule_home.path / "plugins.toml").exists()
