"""One hook as it is configured: when it runs, what runs, and where it was written."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_hooks.events import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ferrule_hooks.events import Event

Standing = Literal["administrator", "user", "project"]
Kind = Literal["command", "http", "python", "prompt", "agent", "mcp_tool"]
DEFAULT_TIMEOUTS_S: Final[Mapping[Kind, float]] = {"prompt": 30.0, "agent": 60.0}
DEFAULT_TIMEOUT_S: Final = 600.0
"""Of the other kinds."""
_FILE_LIMIT: Final = 1024 * 1024
_SCRIPTS: Final = (
    *(".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"),
    *(".ps1", ".bat", ".cmd"),
)


class Source(NamedTuple):
    """A file that hooks were read from, or what stands in for one.

    Attributes:
        file: Its path, or words where there is none.
        standing: Who wrote it.
    """

    file: str
    standing: Standing


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """One hook.

    Attributes:
        event: The event's name.
        source: Where it was written.
        group: Number of its group within the event.
        index: Its number within the group.
        matcher: The matcher's text.
        matches: The matcher.
        kind: What kind of thing runs.
        target: The command line, the address, `module:function`, the question to a model, or the
            name of the tool in the session.
        args: Arguments of a command that is started without a shell; None with a shell.
        headers: Headers of a request.
        allowed_env: Variables that may be put into headers.
        model: The model that is asked; empty for the session's.
        arguments: The input of a tool.
        timeout_s: How long it may take, in seconds.
        is_async: It is started and not waited for.
        is_sequential: It waits for the hooks before it in its group.
        on_error: Whether its failure counts as a refusal.
        context_tokens: Most tokens of its text that the model reads; 0 for the usual bound.
        definition: What is hashed: the definition in the form in which Codex hashes it, too.
        root: The project; files in it that a command names are part of what is trusted.
    """

    event: str
    source: Source
    group: int
    index: int
    matcher: str | None
    matches: Callable[[Iterable[str]], bool]
    kind: Kind
    target: str
    args: tuple[str, ...] | None
    headers: Mapping[str, str]
    allowed_env: frozenset[str]
    model: str
    arguments: Mapping[str, object]
    timeout_s: float
    is_async: bool
    is_sequential: bool
    on_error: Literal["block", "allow"]
    context_tokens: int
    definition: Mapping[str, object]
    root: str

    @property
    def facts(self) -> Event:
        """The event it is attached to."""
        return EVENTS[self.event]

    @property
    def key(self) -> str:
        """Its place, as the trust table of Codex writes it."""
        return f"{self.source.file}:{self.facts.label}:{self.group}:{self.index}"

    @property
    def place(self) -> str:
        """Its place in words."""
        return f"{self.source.file}: {self.event}[{self.group}].hooks[{self.index}]"

    def definition_hash(self) -> str:
        """Hash the definition alone, exactly as Codex does."""
        return _digest(self.definition)

    def trust_hash(self) -> str:
        """Hash what trust is given to: the definition, and files of the project that it names.

        Whoever may write into the project, the model included, could otherwise change what runs
        outside of the sandbox after somebody looked at it.
        """
        files = self.named_files()
        if not files:
            return self.definition_hash()
        return _digest({"definition": self.definition, "files": files})

    def named_files(self) -> dict[str, str]:
        """Return the files within the project that the command names, with their digests."""
        if self.kind != "command" or not self.root:
            return {}
        found: dict[str, str] = {}
        for word in self._words():
            path = os.path.realpath(os.path.join(self.root, os.path.expanduser(word)))
            if path.startswith(self.root + os.sep) and _is_program(path):
                found[path] = _file_digest(path)
        return found

    def _words(self) -> list[str]:
        line = self.target
        for name in ("CLAUDE_PROJECT_DIR", "FERRULE_PROJECT_DIR"):
            line = line.replace(f"${{{name}}}", self.root).replace(f"${name}", self.root)
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            words = line.split()
        return [*words, *(self.args or ())]


def _is_program(path: str) -> bool:
    """Tell whether a file is something that runs, and not what a hook reads or writes."""
    return os.path.isfile(path) and (path.endswith(_SCRIPTS) or os.access(path, os.X_OK))


def _digest(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _file_digest(path: str) -> str:
    try:
        if os.path.getsize(path) > _FILE_LIMIT:
            return "too large to be hashed"
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
