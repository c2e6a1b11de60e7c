"""Commands of a PowerShell script: split at everything that joins or nests them.

Only for rules that ask or forbid: there is no strict reader of PowerShell, so that no rule allows
a script of it.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from ferrule_rules.reading import FoundCommand, Reading, Redirect

LONGEST: Final = 256 * 1024
_TOKEN: Final = re.compile(
    r"'((?:[^']|'')*)'|\"((?:[^\"`]|`.)*)\"|([;|{}()\n]|&&|\|\||[$@][({])|(&(?!&))"
    r"|((?:[^\s;|{}()'\"`&]|`.)+)|[ \t\r]+|.",
    re.S,
)
_ALIASES: Final = {
    "ri": "remove-item",
    "rm": "remove-item",
    "rmdir": "remove-item",
    "del": "remove-item",
    "erase": "remove-item",
    "rd": "remove-item",
    "iex": "invoke-expression",
    "iwr": "invoke-webrequest",
    "curl": "invoke-webrequest",
    "wget": "invoke-webrequest",
    "saps": "start-process",
    "start": "start-process",
    "spps": "stop-process",
    "kill": "stop-process",
}


def read_powershell(script: str, wrapped_in: tuple[str, ...] = ()) -> Reading:
    """Find every command of a PowerShell script."""
    found: list[FoundCommand] = []
    words: list[str] = []
    joined = False

    def end() -> None:
        if words:
            found.extend(_named(tuple(words), wrapped_in))
            words.clear()

    for token in _TOKEN.finditer(script[:LONGEST]):
        single, double, joint, call, plain = token.groups()
        if joint is not None:
            end()
        elif single is not None or double is not None or plain is not None:
            text = single.replace("''", "'") if single is not None else double or plain or ""
            text = text if single is not None else re.sub(r"`(.)", r"\1", text, flags=re.S)
            if joined and words:
                words[-1] += text
            else:
                words.append(text)
        joined = call is None and joint is None and not token[0].isspace()
    end()
    return Reading(tuple(found), len(script) <= LONGEST)


def _named(words: tuple[str, ...], wrapped_in: tuple[str, ...]) -> list[FoundCommand]:
    """A command under its own name and, where it is an alias, under the full one."""
    name = words[0].lower().removesuffix(".exe")
    names = {words[0], name, name.replace("\\", "/").rpartition("/")[2]}
    if name in _ALIASES:
        names.add(_ALIASES[name])
    redirects = tuple(
        Redirect(">", target) for sign, target in itertools.pairwise(words) if sign in (">", ">>")
    )
    return [
        FoundCommand((each, *words[1:]), redirects, wrapped_in, " ".join(words))
        for each in sorted(names)
    ]
