"""R7: only entry points of vetted site folders count, unless a checkout is named for the run."""

PROJECT = """\
[project]
name = "acme-stray"
version = "1.0"
[project.entry-points."ferrule.plugins"]
stray = "acme_stray"
"""


def test_r07_neither_the_workspace_nor_the_python_path_bring_plugins(
    twin, hooks_package, ferrule_home, tmp_path
):
    ran = tmp_path / "ran"
    stray = hooks_package("stray", f"open({str(ran)!r}, 'a').close()\n")
    workspace = ferrule_home.workspace
    for name, text in stray.contents().items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    (workspace / "pyproject.toml").write_text(PROJECT)

    listed = twin.run("plugins", "list", environ={"PYTHONPATH": str(workspace)})

    assert listed.returncode == 0, listed.stderr
    assert "stray" not in listed.stdout
    assert not ran.exists()
    named = twin.run("--dev-plugin", str(workspace), "plugins", "list")
    assert f"acme-stray 1.0  [dev] {workspace}" in named.stdout
    assert ran.exists()
