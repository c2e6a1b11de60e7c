"""Builds the site: `python docs/site/build.py OUT`, with the dependency group `docs` installed.

The pages are those of the repository, laid out as they are there, so that every link that works in
the one works in the other. The order of the navigation is that of the links of `docs/README.md`.
A dead link, a dead anchor or a page that nothing leads to ends it with an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parents[2]
_PARTS: Final = ("", "docs", "core", "hookspecs", "tests/kit", "benchmarks")
_MEMBERS: Final = ("plugins/*", "sandboxes/*", "reviewers/*", "docs/*", "docs/gallery/*")
_LINK: Final = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Build the site into the folder that is named; returns the exit code."""
    parser = argparse.ArgumentParser(description="Build the documentation as a site.")
    parser.add_argument("out", type=Path, help="folder for the HTML; made, or overwritten")
    out: Path = parser.parse_args().out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        lay_out(stage)
        sphinx = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
        places = ["-d", str(stage / ".doctrees"), str(stage), str(out)]
        finished = subprocess.run([*sphinx, *places], check=False)
    if finished.returncode == 0:
        sys.stdout.write(f"the site begins with {out}/docs/README.html\n")
    return finished.returncode


def pages() -> list[Path]:
    """List the pages of the site, relative to the repository."""
    folders = [ROOT / part for part in _PARTS]
    folders += [folder for pattern in _MEMBERS for folder in sorted(ROOT.glob(pattern))]
    found = {
        page.relative_to(ROOT)
        for folder in folders
        for page in folder.glob("*.md")
        if page.name != "CHANGELOG.md" and "changelog.d" not in page.parts
    }
    return sorted(found)


def lay_out(stage: Path) -> None:
    """Copy the pages, with the navigation added, into the folder Sphinx reads."""
    shutil.copy(Path(__file__).with_name("conf.py"), stage)
    known = set(pages())
    for picture in sorted((ROOT / "docs").glob("*.svg")):
        (stage / "docs").mkdir(exist_ok=True)
        shutil.copy(picture, stage / "docs")
    for page in sorted(known):
        target = stage / page
        target.parent.mkdir(parents=True, exist_ok=True)
        text = _outside_of_code(_Links(page, known).rewrite, (ROOT / page).read_text("utf-8"))
        if page == Path("docs/README.md"):
            text += _navigation(known)
        target.write_text(text, "utf-8")


def _navigation(known: set[Path]) -> str:
    """Make the tables of contents: what docs/README.md names in its order, then the rest."""
    home = Path("docs/README.md")
    text = (ROOT / home).read_text("utf-8")
    named = [_resolve(home, match["path"]) for match in _LINK.finditer(text)]
    ordered = [page for page in dict.fromkeys(named) if page in known and page != home]
    rest = sorted(known - set(ordered) - {home})
    return _toctree("Pages", ordered) + _toctree("Parts", rest)


def _toctree(caption: str, entries: list[Path]) -> str:
    lines = [f"/{entry.with_suffix('')}" for entry in entries]
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *lines, "```", ""]
    )


class _Links:
    """The links of one page, fitted to the site."""

    def __init__(self, page: Path, known: set[Path]) -> None:
        self._page = page
        self._known = known

    def rewrite(self, text: str) -> str:
        """Fit every link of a text; a file that is no page is named instead."""
        return _LINK.sub(self._link, text)

    def _link(self, match: re.Match[str]) -> str:
        target = _resolve(self._page, match["path"])
        if target in self._known:
            return match[0]
        if not (ROOT / target).exists():
            return match[0]  # Sphinx names it
        readme = target / "README.md"
        if readme in self._known:
            return f"[{match['text']}]({os.path.relpath(readme, self._page.parent)})"
        return f"{match['text']} (`{target}`)"


def _resolve(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _outside_of_code(change: Callable[[str], str], text: str) -> str:
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


if __name__ == "__main__":
    sys.exit(main())
