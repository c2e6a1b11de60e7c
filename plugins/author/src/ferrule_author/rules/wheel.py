"""The wheel that is made of a checkout: that it can be built, and what is in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_author.finding import Finding, error, warning
from ferrule_author.rules.imports import harmless
from ferrule_hookspecs.manifest import MANIFEST_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_author.subject import Subject

_LIMIT_S: Final = 600
_INSTALLERS: Final = ("PIP_", "UV_")
_CARRIED: Final = (MANIFEST_NAME, "py.typed")


def look_at_wheel(subject: Subject) -> Iterator[Finding]:
    """Build the wheel of a checkout and look into it; nothing for what is installed."""
    if subject.checkout is None:
        return
    with tempfile.TemporaryDirectory(prefix="ferrule-wheel-") as folder:
        argv = _builder(subject.checkout, folder)
        if argv is None:
            text = "no wheel was built: neither uv nor pip is here"
            yield warning("wheel.builds", subject.name, text, "install uv")
            return
        try:
            done = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
                env=_environ(),
            )
            said, code = done.stderr.strip() or done.stdout.strip(), done.returncode
        except (OSError, subprocess.TimeoutExpired) as fault:
            said, code = str(fault), 1
        wheels = sorted(Path(folder).glob("*.whl"))
        if code or not wheels:
            text = f"no wheel can be built: {' '.join(said.split())[-400:]}"
            yield error("wheel.builds", subject.name, text, "correct pyproject.toml")
            return
        with zipfile.ZipFile(wheels[0]) as wheel:
            yield from _contents(subject, wheels[0].name, set(wheel.namelist()))


def _builder(checkout: Path, folder: str) -> list[str] | None:
    if uv := shutil.which("uv"):
        return [uv, "build", "--wheel", "-q", "-o", folder, str(checkout)]
    if find_spec("pip"):
        options = ["--no-deps", "--disable-pip-version-check", "-q", "-w", folder]
        return [sys.executable, "-m", "pip", "wheel", *options, str(checkout)]
    return None


def _environ() -> dict[str, str]:
    """What a build is given, which runs code of the plugin: no secrets but those of installers."""
    own = {name: value for name, value in os.environ.items() if name.startswith(_INSTALLERS)}
    return {**harmless(os.environ), **own}


def _contents(subject: Subject, wheel: str, names: set[str]) -> Iterator[Finding]:
    mend = "let the build take all files of the package in, and nothing else"
    for module in sorted({point.module for point in subject.points}):
        path = subject.file_of(module)
        if path and path.relative_to(subject.source).as_posix() not in names:
            yield error("wheel.contents", wheel, f"the module {module} is not in it", mend)
    for package in subject.packages:
        for file in _CARRIED:
            is_there = (subject.source / package / file).is_file()
            if is_there and f"{package}/{file}" not in names:
                yield error("wheel.contents", wheel, f"{package}/{file} is not in it", mend)
    if any(name.startswith("tests/") for name in names):
        yield error("wheel.contents", wheel, "it would install a top-level package `tests`", mend)
