"""The home, the configuration and the machine, each made wrong for real."""

import os
import shutil

import pytest

LOCAL = ("--no-network", "--only")


@pytest.mark.parametrize(
    ("mode", "status"), [(0o700, "ok"), (0o755, "warn"), (0o770, "fail"), (0o777, "fail")]
)
def test_a_home_that_others_may_write_fails(doctor, ferrule_home, mode, status):
    ferrule_home.path.chmod(mode)

    report = doctor(*LOCAL, "home")

    assert report.status("home.permissions") == status
    assert report.returncode == (1 if status == "fail" else 0)
    if status == "fail":
        assert report["home.permissions"]["mend"] == f"chmod go-w {ferrule_home.path}"


def test_a_configuration_that_others_may_write_fails(doctor, ferrule_home):
    ferrule_home.path.chmod(0o700)
    (ferrule_home.path / "config.toml").chmod(0o666)

    found = doctor(*LOCAL, "home")["home.permissions"]

    assert found["status"] == "fail"
    assert "config.toml (mode 0666)" in found["detail"]


@pytest.mark.parametrize(("home", "status"), [(0o700, "warn"), (0o755, "fail")])
def test_credentials_that_others_may_read_are_named(doctor, ferrule_home, home, status):
    ferrule_home.path.chmod(home)
    file = ferrule_home.path / "auth.json"
    file.write_text('{"OPENAI_API_KEY": "sk-very-secret"}')
    file.chmod(0o644)

    report = doctor(*LOCAL, "home")

    assert report.status("home.secrets") == status
    assert f"chmod 600 {file}" == report["home.secrets"]["mend"]
    assert "sk-very-secret" not in report.text
    file.chmod(0o600)
    assert doctor(*LOCAL, "home").status("home.secrets") == "ok"


@pytest.mark.root
def test_a_home_of_somebody_else_is_looked_at(doctor, ferrule_home):
    os.chown(ferrule_home.path, 65534, 65534)

    found = doctor(*LOCAL, "home")["home.permissions"]

    assert found["status"] == "warn"
    assert "belongs to user 65534" in found["detail"]


def test_a_file_in_the_place_of_the_home_fails(doctor, tmp_path):
    place = tmp_path / "not-a-folder"
    place.write_text("")

    found = doctor(*LOCAL, "home", environ={"FERRULE_HOME": str(place)})["home.folder"]

    assert found["status"] == "fail"
    assert "is not a folder" in found["detail"]


def test_a_configuration_that_cannot_be_read_leaves_the_rest_examined(doctor, ferrule_home):
    (ferrule_home.path / "config.toml").write_text("model = \n")

    report = doctor("--no-network")

    assert report.returncode == 1
    assert report.status("config.files") == "fail"
    assert "config.toml:1:" in report["config.files"]["detail"]
    assert report.status("git.version") == "ok"
    assert report.status("sandbox.choice") == "skip"
    assert report.status("plugins.usable") == "skip"
    assert "search.ripgrep" not in report.ids, "no plugin is imported without a configuration"


def test_unknown_keys_are_listed_with_their_place(doctor, ferrule_home):
    ferrule_home.configure(top='modle = "x"')

    found = doctor(*LOCAL, "config")["config.warnings"]

    assert found["status"] == "warn"
    assert "`modle`" in found["detail"]
    assert "config.toml:5" in found["detail"]


def test_files_are_listed_in_order_and_options_with_them(doctor, ferrule_home):
    (ferrule_home.path / "fast.config.toml").write_text('model = "m"')

    found = doctor(*LOCAL, "config", "-p", "fast", "-c", "model=n")["config.files"]

    home = ferrule_home.path
    order = f"{home}/config.toml (user), {home}/fast.config.toml (profile)"
    assert order in found["detail"]
    assert "model=n" in found["detail"]


def test_a_project_that_is_not_trusted_is_named_with_the_way_to_trust_it(doctor, ferrule_home):
    folder = ferrule_home.workspace / ".ferrule"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "m"')

    report = doctor(*LOCAL, "config")

    assert report.status("config.trust") == "warn"
    assert "--trust" in report["config.trust"]["mend"]
    assert report.status("config.warnings") == "ok"


def test_a_plugin_s_table_that_its_model_refuses_is_found(doctor, checkout, ferrule_home):
    source = "from pydantic import BaseModel\nclass Desk(BaseModel):\n    retries: int = 3\n"
    environ = checkout("desk", "ferrule.settings", source, ":Desk")
    ferrule_home.configure(tables="[plugins.settings.desk]\nretries = 'many'")

    report = doctor(*LOCAL, "config", environ=environ)

    assert report.status("config.plugins") == "fail"
    assert "`plugins.settings.desk.retries`: input should be" in report["config.plugins"]["detail"]
    ferrule_home.configure(tables="[plugins.settings.desk]\nretries = 4")
    assert doctor(*LOCAL, "config", environ=environ).status("config.plugins") == "ok"


def test_requirements_are_shown_and_judged(tmp_path):
    from ferrule.doctor.configuration import requirements_check

    assert requirements_check(tmp_path).status == "skip"
    (tmp_path / "requirements.toml").write_text('allowed_sandbox_modes = ["read-only"]')
    assert "allowed_sandbox_modes" in requirements_check(tmp_path).detail
    (tmp_path / "requirements.toml").write_text("allowed_sandbox_mode = []")
    assert requirements_check(tmp_path).status == "fail"


def test_a_machine_without_git_and_ripgrep_says_what_to_install(doctor, ferrule_home, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    environ = {"PATH": str(tools)}

    report = doctor(*LOCAL, "git", "search", environ=environ)
    assert report.status("git.version") == "warn"
    assert "apt install git" in report["git.version"]["mend"]
    assert report.status("git.repository") == "skip"
    assert report.status("search.ripgrep") == "fail"

    os.symlink(shutil.which("grep"), tools / "grep")
    report = doctor(*LOCAL, "search", environ=environ)
    assert report.status("search.ripgrep") == "warn"


def test_programs_that_the_project_brings_are_not_run(doctor, ferrule_home):
    tools = ferrule_home.workspace / "bin"
    tools.mkdir()
    for name in ("git", "rg"):
        program = tools / name
        program.write_text(f"#!/bin/sh\n: > {ferrule_home.workspace}/ran\n")
        program.chmod(0o755)

    report = doctor(*LOCAL, "git", "search", environ={"PATH": str(tools)})

    assert report.status("git.version") == "warn"
    assert not (ferrule_home.workspace / "ran").exists()


@pytest.mark.root
def test_a_repository_of_another_user_is_named_with_the_way_to_use_it(doctor, ferrule_home):
    for path in (ferrule_home.workspace, ferrule_home.workspace / ".git"):
        os.chown(path, 65534, 65534)

    found = doctor(*LOCAL, "git")["git.repository"]

    assert found["status"] == "warn"
    assert f"safe.directory {ferrule_home.workspace}" in found["mend"]


@pytest.mark.parametrize(
    ("release", "status"),
    [
        ("6.8.0-31-generic", "ok"),
        ("5.15.167.4-microsoft-standard-WSL2", "ok"),
        ("4.4.0-19041-Microsoft", "fail"),
    ],
)
def test_the_first_wsl_has_no_sandbox(release, status):
    from ferrule.doctor.machine import platform_check

    assert platform_check(release, {}).status == status


def test_another_ferrule_on_the_path_is_named(doctor, tmp_path):
    other = tmp_path / "other" / "ferrule"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)

    path = f"{other.parent}:{os.environ['PATH']}"
    found = doctor(*LOCAL, "machine", environ={"PATH": path})["machine.program"]

    assert found["status"] == "warn"
    assert str(other) in found["detail"]


@pytest.mark.usefixtures("ordinary_process")
def test_commands_of_an_ended_session_are_found(doctor, tmp_path):
    """A process that detached itself, as its session's kernel was killed."""
    import subprocess
    from pathlib import Path

    pid_file = tmp_path / "pid"
    script = f"setsid sleep 600 & echo $! > {pid_file}"
    subprocess.run(["sh", "-c", script], env={**os.environ, "FERRULE_THREAD_ID": "t"}, check=True)
    pid = int(pid_file.read_text())
    try:
        while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            pass  # setsid becomes the program in a moment
        found = doctor(*LOCAL, "leftovers")["leftovers.processes"]
    finally:
        os.kill(pid, 9)

    assert found["status"] == "warn"
    assert f"sleep ({pid})" in found["detail"]
