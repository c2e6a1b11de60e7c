"""R20: plugins beside a Ferrule that came by `uv tool` or pipx, from real wheels of all parts."""

import subprocess

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SET = "ferrule-core[lean,commands]"


def call(*command, environ):
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, env=environ, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(params=["uv tool", "pipx"])
def install(request, wheels, environ, tmp_path):
    """Install Ferrule anew by one of the installers; nothing of before is kept."""
    pipx = ["uv", "tool", "run", "-q", "pipx"]

    def install():
        if request.param == "uv tool":
            command = ["uv", "tool", "install", "-q", "--force", "--find-links", wheels, SET]
        else:
            command = [*pipx, "install", "--pip-args", f"--find-links {wheels}", SET]
            if (tmp_path / "bin" / "ferrule").exists():
                call(*pipx, "uninstall", "ferrule-core", environ=environ)
        call(*command, environ=environ)

    install.tool = request.param
    return install


def test_r20_a_tool_keeps_its_plugins_over_an_upgrade_and_gets_them_back_when_made_anew(
    install, wheels, environ, tmp_path
):
    install()
    # where the environment lies, Ferrule finds out by itself
    forgetful = {n: v for n, v in environ.items() if not n.startswith(("UV_TOOL", "PIPX_"))}
    ferrule = tmp_path / "bin" / "ferrule"

    def plugins(*words):
        return call(ferrule, "plugins", *words, environ=forgetful)

    def listed():
        return plugins("list")

    told = plugins("add", "acme-ticket", "--find-links", wheels)
    assert "offers the model the tool 'acme_ticket'" in told
    assert "acme-ticket 1.0.0" in listed()

    if install.tool == "uv tool":
        call("uv", "tool", "upgrade", "--reinstall", "ferrule-core", environ=environ)
        assert "acme-ticket 1.0.0" in listed()
    install()
    assert "acme-ticket" not in listed()
    assert "restored: acme-ticket" in plugins("sync")
    assert "acme-ticket 1.0.0" in listed()

    plugins("remove", "acme-ticket")
    assert "acme-ticket" not in listed()
    refused = subprocess.run(
        [ferrule, "plugins", "remove", "--yes", "ferrule-shell"],
        capture_output=True,
        text=True,
        env=forgetful,
        check=False,
    )
    assert refused.returncode == 1
    assert "ferrule plugins disable ferrule-shell" in refused.stderr
