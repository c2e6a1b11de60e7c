"""Commands that the documentation shows work: page by page, in order, in one shell.

The model is scripted, and always says the same; outputs that are shown are compared, `…` standing
for anything. Ferrule's home is `/home/you/.ferrule` in them, the project `/home/you/my-project`.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import venv
from contextlib import suppress
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

LIMIT_S = 300
ROOT = Path(__file__).parents[3]
SAYS = '{"names": ["parse"]}'
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "000002000001e221bc330000000049454e44ae426082"
)
PROJECT = {
    "Makefile": "test:\n\t@echo ok\n",
    "build.sh": "#!/bin/sh\necho built\n",
    "src/parser.py": "def parse(text):\n    return text.split()\n",
    "tests/test_parser.py": "def test_parser():\n    pass\n",
    "schema.json": '{"type": "object", "properties": {"names": {"type": "array"}}}',
    "secrets/key": "k",
    "prompt.txt": "what does this project do?",
    "package.json": '{"name": "shop", "version": "1.0.0"}',
    "package-lock.json": '{"name": "shop", "lockfileVersion": 3, "packages": {}}',
    ".agents/skills/release/SKILL.md": "---\ndescription: How to release.\n---\nTag it.\n",
}
HISTORY = """
git init -q -b main
git add .
git commit -q -m first
echo 'limit = 1' >src/limit.py
git add src
git commit -q -m second
git update-ref refs/remotes/origin/main HEAD
git checkout -q -b work
echo 'limit = 2' >src/limit.py
git commit -q -a -m third
echo 'x = 1' >src/new.py
echo my-project >.git/info/exclude
ln -s . my-project  # pages begin with `cd my-project`, or are there already
"""
ADMIN = """
from pathlib import Path
if Path({folder!r}).is_dir():
    from ferrule.host import LocalHost
    LocalHost.admin = Path({folder!r})
"""
PERSON = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "A"), ("EMAIL", "a@example.com"))
}


@pytest.fixture
def project(ferrule_home):
    """A project with a history, in the folder that pages call `my-project`."""
    folder = ferrule_home.workspace / "my-project"
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "build.sh").chmod(0o755)
    for name in ("before.png", "after.png", "screen.png"):
        (folder / name).write_bytes(PNG)
    environ = ferrule_home.environ | PERSON
    subprocess.run(["bash", "-ec", HISTORY], cwd=folder, env=environ, check=True)
    ferrule_home.path.chmod(0o700)
    return folder


def steps_of(block):
    """List the commands of a block, each with the output that is shown below it."""
    steps = []
    is_console = block.language == "console"
    for line in block.text.splitlines():
        continues = steps and steps[-1][0].endswith("\\") and not steps[-1][1]
        if continues:
            steps[-1][0] += "\n" + line
        elif is_console and line.startswith("$ "):
            steps.append([line[2:], []])
        elif is_console:
            steps[-1][1].append(line)
        elif line.strip():
            steps.append([line, []])
    return steps


def is_left_out(block, command):
    words = [reason.partition(" (")[2].rstrip(")") for reason in block.all_marks("not run")]
    return any(command.startswith(word) for word in words if word)


def expected_status(block, command):
    for mark in block.all_marks("ends"):
        status, _, words = mark.partition(" ")
        if command.startswith(words):
            return int(status)
    return 0


def written(block, folder):
    """Write a block into the file that it shows."""
    name = block.mark("file")
    source = folder / f"{block.line}-file"
    source.write_text(block.text)
    operator = ">>" if name.startswith("+") else ">"
    return [
        f'mkdir -p "$(dirname {name.lstrip("+")})"',
        f"cat {source} {operator}{name.lstrip('+')}",
    ]


def script_of(block, folder):
    """Run every command where the one before left the shell; keep output and status of each."""
    if block.mark("file"):
        return "\n".join(written(block, folder))
    lines = [f"# {block.place}"]
    first = [(command, []) for command in block.all_marks("first")]
    for number, (command, _) in enumerate(first + steps_of(block), -len(first)):
        if not is_left_out(block, command):
            out = folder / f"{block.line}.{number}"
            command = command.removeprefix(".ci/start ")
            lines += [f"{{ {command}", f"}} >{out} 2>&1 </dev/null", f"echo $? >{out}.status"]
    return "\n".join(lines)


def pattern_of(lines):
    text = "\n".join(lines).strip()
    return "(?s)" + re.escape(text).replace("…", ".*?")


def faults_of(block, folder, names):
    first = [(command, []) for command in block.all_marks("first")]
    for number, (command, shown) in enumerate(first + steps_of(block), -len(first)):
        if is_left_out(block, command) or block.mark("file"):
            continue
        out = folder / f"{block.line}.{number}"
        text = out.read_text("utf-8") if out.exists() else "it was not reached"
        for path, name in names.items():
            text = text.replace(str(path), name)
        status = Path(f"{out}.status")
        ended = int(status.read_text()) if status.exists() else None
        wanted = expected_status(block, command)
        if ended != wanted:
            yield f"{block.place}: {command} ended with {ended}, not {wanted}: {text}"
        elif shown and not re.search(pattern_of(shown), text):
            yield f"{block.place}: {command} said: {text}"


def twin_of_ours(folder):
    """Make an environment with all that ours has, in which pages may install."""
    venv.create(folder, symlinks=True)
    site, ours = (
        Path(sysconfig.get_path("purelib", "venv", {"base": base}))
        for base in (str(folder), sys.prefix)
    )
    for path in ours.glob("*.dist-info"):
        shutil.copytree(path, site / path.name)
    for path in ours.glob("*.pth"):
        (site / path.name).symlink_to(path)
    (site / "ours.pth").write_text(f"{ours}\n")
    # No `sitecustomize`, which some systems have themselves; what comes last finds all of ours.
    (site / "twin_begins.py").write_text(ADMIN.format(folder=str(folder / "etc")))
    (site / "twin_begins.pth").write_text("import twin_begins\n")
    for name in ("ferrule", "pytest"):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m {name} "$@"\n')
        program.chmod(0o755)


@pytest.fixture
def environ(ferrule_home, socket_folder, tmp_path):
    """The environment of a person whose home has a short path, as sockets need it."""
    twin_of_ours(tmp_path / "environment")
    path = f"{tmp_path}/environment/bin{os.pathsep}{os.environ['PATH']}"
    inherited = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV" and "PYTEST" not in k}
    with tempfile.TemporaryDirectory(prefix="docs-") as home:
        yield {
            **inherited,
            **ferrule_home.environ,
            "PATH": path,
            "HOME": home,
            "ROOT": str(ROOT),
            "ADMIN": str(tmp_path / "environment" / "etc"),  # /etc/ferrule of the pages
            "SOCKETS": str(socket_folder),
        }


def script_of_the_model(page):
    """What the model says while the page is run."""
    marks = [mark for block in page for mark in block.all_marks("calls")]
    script = []
    for number, (name, _, arguments) in enumerate(mark.partition(" ") for mark in marks):
        call = function_call(name, json.loads(arguments), call_id=f"call_{number}")
        script += [[call], [message(SAYS)]]
    return script + [[message(SAYS)]] * 60


@pytest.mark.timeout(600)
def test_the_commands_of_a_page_work(
    shell_page, ferrule_home, model_server, project, environ, tmp_path
):
    model_server.play(script_of_the_model(shell_page))
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    script = "\n".join(script_of(block, outputs) for block in shell_page)
    with subprocess.Popen(
        ["bash", "-c", script], cwd=project, env=environ, start_new_session=True
    ) as shell:
        try:
            shell.wait(LIMIT_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    names = {
        environ["ADMIN"]: "/etc/ferrule",
        ferrule_home.path: "/home/you/.ferrule",
        project: "/home/you/my-project",
    }
    faults = [fault for block in shell_page for fault in faults_of(block, outputs, names)]
    assert not faults, "\n".join(faults)
