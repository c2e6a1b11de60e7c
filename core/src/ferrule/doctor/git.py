"""Git: whether commands of the model find it, and whether it will work in this folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule.doctor.program import run_program
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule.doctor.examination import Examination

_LIMIT_S: Final = 10.0


def checks(examination: Examination) -> Iterator[Check]:
    """Look for git and at the repository around the working directory."""
    root = os.path.realpath(examination.config.project_root if examination.config else "/")
    program = _find(examination.environ.get("PATH", ""), root)
    if program is None:
        yield Check(
            "git.version",
            "warn",
            "git is not installed, or not in a folder of PATH outside of the project; commands of"
            " the model expect it",
            "install git, as in `apt install git`",
        )
        yield Check("git.repository", "skip", "there is no git to ask")
        return
    code, output = _ask(program, ["--version"], examination)
    if code != 0:
        yield Check("git.version", "warn", f"{program} does not run: {output}", "install git anew")
        yield Check("git.repository", "skip", "git does not run")
        return
    yield Check("git.version", "ok", f"{output} at {program}")
    yield _repository(program, examination)


def _find(path: str, project: str) -> str | None:
    """Find git where the project could not have put it: it is about to be run."""
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        for name in ("git", "git.exe"):
            program = os.path.join(folder, name)
            is_inside = os.path.realpath(program).startswith(project.rstrip("/") + "/")
            if os.access(program, os.X_OK) and (project == "/" or not is_inside):
                return program
    return None


def _repository(program: str, examination: Examination) -> Check:
    cwd = examination.cwd
    code, output = _ask(program, ["-C", cwd, "rev-parse", "--show-toplevel"], examination)
    if code == 0:
        return Check("git.repository", "ok", f"{cwd} is in the repository {output}")
    if "safe.directory" in output or "dubious ownership" in output:
        folder = _repository_folder(cwd)
        return Check(
            "git.repository",
            "warn",
            f"git refuses the repository {folder}: it belongs to another user",
            f"if you trust it: git config --global --add safe.directory {folder}",
        )
    if "not a git repository" in output:
        return Check(
            "git.repository", "skip", f"{cwd} is in no repository; changes cannot be undone by git"
        )
    return Check(
        "git.repository", "warn", f"git fails in {cwd}: {output}", "run `git status` there"
    )


def _repository_folder(cwd: str) -> str:
    folder = cwd
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _ask(program: str, words: list[str], examination: Examination) -> tuple[int, str]:
    """Run git; returns its exit code and what it said in one line."""
    try:
        ended = run_program(
            [program, *words], environ=_environment(examination.environ), limit_s=_LIMIT_S
        )
    except OSError as error:
        return -1, str(error)
    return ended.code, " ".join((ended.errors if ended.code else ended.output).split())


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {**environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
