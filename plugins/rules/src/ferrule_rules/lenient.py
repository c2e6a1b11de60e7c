"""The lenient reader: finds every command that a script may run, however it is wrapped up.

It serves rules that forbid or ask, and the heuristics, so it may find a command too many but should
not miss one. Where a variable may have one of several values, a command is returned for each.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from ferrule_rules.reading import (
    DEEPEST,
    MOST_COMMANDS,
    MOST_VALUES,
    SHELLS,
    FoundCommand,
    Reading,
    Redirect,
    Word,
)
from ferrule_rules.strict import PlainCommand, read_plain
from ferrule_rules.word_values import WordValues, glob_word, printed, text_of
from ferrule_rules.words import ansi_c_text, brace_texts
from ferrule_rules.wrappers import inner_of, program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node, Parser

LONGEST: Final = 64 * 1024
_MOST_PIPES: Final = 400
"""The parser needs memory by the square of them: 240 MB for 4,000."""
_DEEPEST_NODE: Final = 150
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_COMMANDS: Final = frozenset({"command", "declaration_command", "unset_command"})
_SOURCES: Final = frozenset({"source", "."})
_LINE_ESCAPE: Final = re.compile(r"\n[ \t]*\\(?=[^\n])")
_KEYWORD: Final = re.compile(
    r"(^|[;&|(){}\n]|\b(?:then|do|else|elif|if|while|until)[ \t])[ \t]*"
    r"(?:(?:!|time(?:[ \t]+-p)?|coproc)[ \t]+)+"
)
"""Words before a command that the parser does not always know for what they are."""
_BRACED: Final = re.compile(r"(?<![^\s;&|(){}`])\{[^\s{}]*,[^\s{}]*\}(?![^\s;&|()`])")
_ROUGH_END: Final = re.compile(r"[;&|\n(){}`!]|\$\(")
_ROUGH_QUOTES: Final = re.compile(r"['\"\\]")


def read_all(script: str) -> Reading:
    """Find every command of a script."""
    try:
        return _Reader().read(script)
    except RecursionError:  # whatever bound was missed: what is not read is asked about
        return Reading((), is_whole=False)


def read_argv(argv: Sequence[str]) -> Reading:
    """Find every command that an argument list runs, itself included."""
    reader = _Reader()
    reader.add(FoundCommand(tuple(argv), text=" ".join(argv)))
    return reader.reading()


_parser: Parser | None = None


def _bash() -> Parser:
    global _parser
    if _parser is None:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        _parser = Parser(Language(tree_sitter_bash.language()))
    return _parser


class _Budget:
    """How much may still be read, of all scripts within a script together."""

    def __init__(self) -> None:
        self.letters = LONGEST * 2
        self.commands = MOST_COMMANDS


class _Reader:
    def __init__(
        self,
        depth: int = 0,
        wrapped_in: tuple[str, ...] = (),
        budget: _Budget | None = None,
    ) -> None:
        self._budget = budget or _Budget()
        self._found: list[FoundCommand] = []
        self._is_whole = True
        self._has_errors = False
        self._depth = depth
        self._wrapped_in = wrapped_in
        self._words = WordValues()

    def reading(self) -> Reading:
        return Reading(tuple(self._found), self._is_whole, self._has_errors)

    def read(self, script: str) -> Reading:
        self._budget.letters -= len(script)
        if len(script) > LONGEST or self._budget.letters < 0:
            self._is_whole = False
            return self.reading()
        if script.count("|") > _MOST_PIPES:
            self._is_whole = False
            return self.reading()
        plain = read_plain(script)
        if plain is not None:
            self._read_plain(plain, script)
            return self.reading()
        self._read_shell(script)
        if "\\\n" in script:
            # A comment goes not on in the next line, everything else does.
            self._read_shell(script.replace("\\\n", ""))
        return self.reading()

    def _read_shell(self, script: str) -> None:
        # The parser takes a backslash at the start of a line for the end of the line before.
        text = _LINE_ESCAPE.sub("\n", _KEYWORD.sub(r"\1 ", script))
        if "{" in text and "," in text:
            text = _BRACED.sub(lambda found: " ".join(brace_texts(found[0])), text)
        root = _bash().parse(text.encode("utf-8", "surrogateescape")).root_node
        self._words.learn(root, script)
        self._visit(root, (), 0)
        if root.has_error:
            self._has_errors = True
            self._read_roughly(script)

    def _read_plain(self, plain: Sequence[PlainCommand], script: str) -> None:
        is_piped = "|" in script
        before: tuple[str, ...] = ()
        printing: Word = None
        for command in plain:
            redirects = tuple(
                Redirect(one.operator, one.target)
                for one in command.redirects
                if one.operator != "<"
            )
            fed_by = (program(before[0]),) if before else ()
            text = " ".join(command.argv)
            self.add(FoundCommand(command.argv, redirects, self._wrapped_in, text, fed_by))
            if printing and program(command.argv[0]) in SHELLS:
                self._read_text(printing, command.argv[0])
            if is_piped:
                before = command.argv
                printing = _printed(before) or _filtered(printing, before)

    def add(self, command: FoundCommand) -> None:
        """Note a command and everything it runs in turn."""
        self._budget.commands -= 1
        if self._budget.commands < 0:
            self._is_whole = False
            return
        self._found.append(command)
        if len(command.wrapped_in) >= DEEPEST:
            self._is_whole = False
            return
        for inner in inner_of(command.argv):
            wrapped_in = (*command.wrapped_in, inner.wrapper)
            if inner.script is not None and inner.is_powershell:
                from ferrule_rules.powershell import read_powershell

                self._found.extend(read_powershell(inner.script, wrapped_in).commands)
            elif inner.script is not None:
                self._read_inner(inner.script, inner.wrapper, command.wrapped_in)
            elif inner.argv:
                self.add(command._replace(argv=inner.argv, wrapped_in=wrapped_in))

    def _read_inner(
        self, script: str, wrapper: str, wrapped_in: tuple[str, ...] | None = None
    ) -> None:
        outer = self._wrapped_in if wrapped_in is None else wrapped_in
        if self._depth >= DEEPEST or len(outer) >= DEEPEST:
            self._is_whole = False
            return
        reading = _Reader(self._depth + 1, (*outer, wrapper), self._budget).read(script)
        self._is_whole = self._is_whole and reading.is_whole
        self._found.extend(reading.commands)

    def _visit(self, node: Node, redirects: tuple[Redirect, ...], depth: int) -> None:
        if depth > _DEEPEST_NODE:
            self._is_whole = False
            return
        kind = node.type
        children = node.named_children
        if kind == "redirected_statement":
            redirects = (*redirects, *self._redirects(node))
            self._note_fed_body(node)
            self._note_split_body(node, redirects)
            if node.child_by_field_name("body") is None and redirects:
                self.add(FoundCommand((":",), redirects, self._wrapped_in, text_of(node)))
        elif kind == "pipeline":
            self._note_pipeline([child for child in children if child.type != "comment"])
        if kind in _COMMANDS:
            self._note_command(node, (*redirects, *self._redirects(node)))
            redirects = ()
        for child in children:
            self._visit(child, redirects, depth + 1)

    def _note_command(
        self,
        node: Node,
        redirects: tuple[Redirect, ...],
        fed_by: tuple[str, ...] = (),
        more: Sequence[Node] = (),
    ) -> None:
        text = text_of(node)
        for argv in self._words.argvs(node, more):
            self.add(FoundCommand(argv, redirects, self._wrapped_in, text, fed_by))
            if shell := _shell_among(argv):
                self._note_fed_shell(node, shell)

    def _note_split_body(self, node: Node, redirects: tuple[Redirect, ...]) -> None:
        """Read `env > x curl`: the parser takes words after a redirection for files, too."""
        body = node.child_by_field_name("body")
        more = [
            word
            for child in node.named_children
            if child.type == "file_redirect"
            for word in child.children_by_field_name("destination")[1:]
        ]
        if more and body is not None and body.type in _COMMANDS:
            self._note_command(body, redirects, (), more)

    def _redirects(self, node: Node) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        for child in node.named_children:
            if child.type != "file_redirect":
                continue
            operator = next((part.type for part in child.children if not part.is_named), "")
            target = child.child_by_field_name("destination")
            if operator in _WRITES and target is not None and target.type != "number":
                found += [Redirect(operator, value) for value in self._words.of(target)]
        return tuple(found)

    # --- what is fed into shells -----------------------------------------------------------

    def _note_fed_shell(self, node: Node, name: str) -> None:
        """Read here-strings and `<(echo …)` of a shell as scripts."""
        for child in node.named_children:
            if child.type == "herestring_redirect":
                for value in self._words.of(child):
                    if value is not None:
                        self._read_inner(value, program(name))
            elif child.type == "process_substitution":
                for inner in child.named_children:
                    self._read_output([inner], name)

    def _note_fed_body(self, node: Node) -> None:
        """Read a here-document as a script where a shell reads it."""
        body = node.child_by_field_name("body")
        for redirect in node.named_children:
            if redirect.type == "herestring_redirect" and body is not None:
                self._note_fed_shell(node, self._program_of(body))
            if redirect.type != "heredoc_redirect":
                continue
            readers = [] if body is None else self._stages(body)
            for part in redirect.named_children:
                if part.type in ("pipeline", "command"):
                    readers += self._stages(part)
            names = [name for name in map(self._program_of, readers) if name in SHELLS]
            for part in redirect.named_children if names else ():
                if part.type == "heredoc_body":
                    self._read_inner(text_of(part), names[0])

    def _stages(self, node: Node) -> list[Node]:
        return list(node.named_children) if node.type == "pipeline" else [node]

    def _program_of(self, node: Node) -> str:
        argvs = self._words.argvs(node)
        shells = filter(None, map(_shell_among, argvs))
        return next(shells, "") or next((program(argv[0]) for argv in argvs), "")

    def _note_pipeline(self, stages: list[Node]) -> None:
        for at, stage in enumerate(stages):
            name = self._program_of(stage)
            if at and (name in SHELLS or name in _SOURCES):
                self._read_output(stages[:at], name)
                fed_by = tuple(filter(None, map(self._program_of, stages[:at])))
                if stage.type == "command":
                    self._note_command(stage, (), fed_by or ("",))

    def _read_output(self, stages: list[Node], name: str) -> None:
        """Read what commands print as a script, where that is plain to see."""
        texts: set[Word] = {None}
        for stage in stages:
            argvs = self._words.argvs(stage)[:MOST_VALUES] or [()]
            texts = {_printed(argv) or _filtered(text, argv) for argv in argvs for text in texts}
        for text in sorted(filter(None, texts))[:MOST_VALUES]:
            self._read_text(text, name)

    def _read_text(self, text: str, name: str) -> None:
        """Read what is printed into a shell; some programs undo its escapes, some do not."""
        for form in dict.fromkeys((text, ansi_c_text(text))):
            self._read_inner(form, program(name))

    # --- what is no syntax -----------------------------------------------------------------

    def _read_roughly(self, script: str) -> None:
        """Take a script apart at everything that may begin a command, quotes disregarded."""
        for part in _ROUGH_END.split(_expanded(script)):
            words = list(map(glob_word, _ROUGH_QUOTES.sub("", part).split()))
            while words and (words[0] in _KEYWORDS or "=" in words[0]):
                words = words[1:]
            if words:
                self.add(FoundCommand(tuple(words), (), self._wrapped_in, part.strip()))


_KEYWORDS: Final = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
        "for",
        "case",
        "esac",
        "fi",
        "done",
        "in",
        "time",
    ]
)


def _shell_among(argv: Sequence[Word], depth: int = 0) -> str:
    """The shell that a command is or runs, however many wrappers are around it; else empty."""
    name = program(argv[0]) if argv else ""
    if name in SHELLS or name in _SOURCES:
        return name
    if depth < DEEPEST:
        for inner in inner_of(tuple(argv)):
            if inner.argv and (found := _shell_among(inner.argv, depth + 1)):
                return found
    return ""


def _expanded(script: str) -> str:
    """Undo braces, which begin a command in one place and are one in another."""
    return " ".join(
        " ".join(brace_texts(word)) if "{" in word and "," in word else word
        for word in re.split(r"[ \t]", script)
    )


def _printed(argv: Sequence[Word], depth: int = 0) -> Word:
    """What a command prints, wrapped up or not."""
    text = printed(argv)
    if text is None and depth < DEEPEST:
        for inner in inner_of(tuple(argv)):
            text = text or _printed(inner.argv, depth + 1)
    return text


def _filtered(text: Word, argv: Sequence[Word]) -> Word:
    """What a filter makes of a text."""
    if text is None or not argv:
        return None
    name = program(argv[0])
    if name in ("cat", "tee"):
        return text
    if name == "rev":
        return "\n".join(line[::-1] for line in text.split("\n"))
    try:
        if name == "base64" and {"-d", "-D", "--decode", "-di"} & set(argv):
            return base64.b64decode(text.encode()).decode("utf-8", "replace")
        if name == "xxd" and "-r" in argv:
            return bytes.fromhex("".join(text.split())).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None
    return None
