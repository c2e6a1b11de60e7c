"""Runs ripgrep or grep inside the sandbox and reads what they print."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ferrule_files.glob import Glob
from ferrule_files.reading import shortened
from ferrule_files.walk import walk
from ferrule_hookspecs.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ferrule_files.search import Search
    from ferrule_hookspecs.tools import ToolContext

_SECONDS: Final = 60.0
_NOT_FOUND: Final = (126, 127)
_RIPGREP_OPTIONS: Final = (
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-messages",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--color=never",
    "--sort=path",
    "--glob=!.git",
)
_GREP_BATCH: Final = 500
_GREP_NOTE: Final = "(searched by `grep -E`, which knows no `\\d`: write `[0-9]`)\n"


@dataclass(slots=True)
class Matches:
    """Lines `path:line:text`; incomplete when the search was cut short."""

    lines: list[str] = field(default_factory=list[str])
    is_complete: bool = True
    note: str = ""


async def search_with_ripgrep(search: Search, context: ToolContext) -> Matches | None:
    """Search with ripgrep; None when there is none."""
    arguments = (
        *_RIPGREP_OPTIONS,
        *_include(search.include),
        "-e",
        search.pattern,
        "--",
        search.target,
    )
    return await _run("rg", arguments, search, context)


def _include(glob: str) -> tuple[str, ...]:
    """A type keeps to `.gitignore` where `--glob` would overrule it, but knows names only."""
    if glob == "*":
        return ()
    if "/" in glob:
        return (f"--glob={glob}",)
    return (f"--type-add=included:{glob}", "--type=included")


async def search_with_grep(search: Search, context: ToolContext) -> Matches | None:
    """Search with grep in the files a walk finds; None when there is no grep."""
    found = Matches(note=_GREP_NOTE if "\\d" in search.pattern else "")
    async with aclosing(_batches(search, context)) as batches:
        async for batch in batches:
            arguments = ("-nHEIs", "-e", search.pattern, "--", *batch)
            matches = await _run("grep", arguments, search, context)
            if matches is None:
                return None
            found.lines += matches.lines
            found.is_complete = matches.is_complete
            if len(found.lines) > search.limit or not matches.is_complete:
                break
    return found


async def _batches(search: Search, context: ToolContext) -> AsyncGenerator[list[str], None]:
    if search.target != ".":
        yield [f"./{search.target}"]
        return
    include = Glob.parse(search.include)
    batch: list[str] = []
    async for each in walk(context.sandbox.files, search.folder):
        if each.kind == "file" and include is not None and include.fits(each.path):
            batch.append(f"./{each.path}")
        if len(batch) == _GREP_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _run(
    program: str, arguments: Sequence[str], search: Search, context: ToolContext
) -> Matches | None:
    """Run a search program until it ends, has found enough or takes too long."""
    from anyio import CancelScope, move_on_after

    from ferrule_hookspecs.sandbox import Command

    # A shell turns a program that is not there into an exit code, whatever the sandbox.
    argv = ("/bin/sh", "-c", 'exec "$@"', "sh", program, *arguments)
    process = await context.sandbox.spawn(Command(argv, search.folder, context.environment()))
    output = bytearray()
    code: int | None = None
    try:
        with move_on_after(_SECONDS):
            while chunk := await process.read():
                output += chunk
                if output.count(b"\n") > search.limit:
                    break
            else:
                code = await process.wait()
    finally:
        if code is None:
            process.kill()
            with CancelScope(shield=True):
                await process.wait()
    if code in _NOT_FOUND:
        return None
    lines = output.decode("utf-8", "replace").split("\n")[: None if code is not None else -1]
    matches = Matches([_tidy(line) for line in lines if line], code is not None)
    if code not in {None, 0, 1} and not _looks_like_matches(matches):
        raise ToolError(f"the search failed: {' '.join(matches.lines)[:1_000]}")
    return matches


def _tidy(line: str) -> str:
    return shortened(line.removesuffix("\r").removeprefix("./"))


def _looks_like_matches(matches: Matches) -> bool:
    return bool(matches.lines) and re.match(r".+?:\d+:", matches.lines[0]) is not None
