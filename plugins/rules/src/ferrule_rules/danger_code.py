"""One-line programs of interpreters that delete things."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_rules.reading import Word

_INTERPRETER: Final = re.compile(r"(python|pypy|node|deno|bun|ruby|perl|php|lua)[0-9.]*")
_DELETES: Final = re.compile(
    r"\brmtree\b|\bos\.(remove|unlink|rmdir|removedirs|truncate)\b|\.unlink\(|\.rmdir\(|\brimraf\b"
    r"|\b(rm|rmdir|unlink)(Sync)?\s*\(|\brm_rf?\b|\bremove_(entry|dir)|\bFile\.(delete|unlink)\b"
    r"|\bFileUtils\.rm|\bunlink\s+[\"'$@(]|\bremove_tree\b|\bDeno\.remove|\bos\.remove\b"
)


def code_danger(name: str, words: Sequence[Word]) -> str:
    """Tell what a program given by `-c` or `-e` does; empty where nothing is known."""
    if not _INTERPRETER.fullmatch(name):
        return ""
    for before, word in itertools.pairwise(words):
        is_code = before is not None and re.fullmatch(r"-\w*[ceErp]|--eval|--print", before)
        if is_code and word is not None and _DELETES.search(word):
            return f"the {name} program on its command line deletes files"
    return ""
