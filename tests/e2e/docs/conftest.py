"""The code blocks of the documentation, and what is said about each in the source of its page.

A comment in front of a block says what it is where its language does not:

    <!-- excerpt: PATH -->    a part of a file that is tested itself
    <!-- as: KIND -->         a file of that kind, or code with the surroundings of that name
    <!-- not run: REASON -->  what cannot run here, for a reason of the list below;
                              REASON (WORDS) leaves out the lines that begin with the words
    <!-- ends: N WORDS -->    the exit status of lines that begin with the words, where it is not 0
    <!-- first: COMMAND -->   run by the shell before the commands of a block
    <!-- calls: TOOL JSON --> what the model does first on this page, in order of the marks
    <!-- file: PATH -->       the block is that file for the commands below it; `+PATH` adds to one
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule_testkit.fenced_blocks import Block, blocks_of

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "core/*.md", "hookspecs/*.md", "tests/kit/*.md")
    for page in ROOT.glob(pattern)
    if page.name != "CHANGELOG.md"
) + sorted(
    page
    for folder in ("plugins", "sandboxes", "reviewers", "docs/gallery")
    for page in ROOT.glob(f"{folder}/*/README.md")
)
REASONS = frozenset(
    {
        "changes the system",
        "needs a container engine",
        "needs a desktop",
        "needs a model server",
        "needs a terminal",
        "needs an account",
        "needs another machine",
        "needs another system",
        "needs the network",
        "serves until it is ended",
        "shows a pattern, not a command",
        "takes minutes",
    }
)


def is_run(block: Block) -> bool:
    is_partly = all("(" in reason for reason in block.all_marks("not run"))
    return is_partly and not block.mark("excerpt")


ALL = [block for page in PAGES for block in blocks_of(page, ROOT)]


def takes_long(blocks: list[Block]) -> bool:
    """Whether a page has more commands than the default suite has time for."""
    return (
        sum(line.startswith(("$ ", "ferrule ")) for b in blocks for line in b.text.split("\n")) > 3
    )


@pytest.fixture(scope="session")
def all_blocks() -> list[Block]:
    return ALL


@pytest.fixture(scope="session")
def reasons() -> frozenset[str]:
    return REASONS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests every block of a language, or every page with blocks of it."""
    for name in metafunc.fixturenames:
        language, _, unit = name.rpartition("_")
        wanted = {"toml": {"toml"}, "json": {"json"}, "python": {"python"}}.get(language)
        if language == "shell":
            wanted = {"console", "sh"}
        if wanted is None or unit not in ("block", "page"):
            continue
        found = [block for block in ALL if block.language in wanted and is_run(block)]
        if language == "python":
            found = [block for block in found if not block.mark("file")]
        if language == "shell":
            shown = {block.page for block in found}
            found = [b for b in ALL if b in found or (b.page in shown and b.mark("file"))]
        if unit == "block":
            metafunc.parametrize(name, found, ids=[block.place for block in found])
        else:
            pages = {
                page: [block for block in found if block.page == page]
                for page in dict.fromkeys(block.page for block in found)
            }
            rows = [
                pytest.param(
                    blocks,
                    id=str(page),
                    marks=[pytest.mark.slow] if language == "shell" and takes_long(blocks) else [],
                )
                for page, blocks in pages.items()
            ]
            metafunc.parametrize(name, rows)
