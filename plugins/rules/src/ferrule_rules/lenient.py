"""The lenient reader: finds every command that a script may run, however it is wrapped up.

It serves rules that forbid or ask, and the heuristics, so it may find a command too many but should
not miss one. Where a variable may have one of several values, a command is returned for each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule_rules.code_calls import CODE_READERS, code_scripts
from ferrule_rules.printing import filtered, printed_by
from ferrule_rules.reading import (
    DEEPEST,
    MOST_COMMANDS,
    MOST_VALUES,
    SHELLS,
    UNKNOWN,
    FoundCommand,
    Reading,
    Redirect,
    Word,
)
from ferrule_rules.run_options import is_run
from ferrule_rules.strict import PlainCommand, read_plain
from ferrule_rules.word_values import WordValues, glob_word, text_of
from ferrule_rules.words import SUBSCRIPT, ansi_c_text, brace_texts
from ferrule_rules.wrappers import inner_of, program
from ferrule_rules.written_files import WrittenFiles, renamed

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
_LINE_READERS: Final = SHELLS | _SOURCES | {"at", "batch", "make", "gmake", "parallel"}
"""Programs whose input is commands of a shell, more or less."""
_READERS: Final = _LINE_READERS | CODE_READERS
_BACKQUOTES: Final = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.S)
_PROMPT: Final = re.compile(r"PS[0-4]")
_LINE_ESCAPE: Final = re.compile(r"\n[ \t]*\\(?=[^\n])")
_KEYWORD: Final = re.compile(
    r"(^|[;&|(){}\n]|\b(?:then|do|else|elif|if|while|until)[ \t])[ \t]*"
    r"(?:(?:!|time(?:[ \t]+-p)?|coproc(?:[ \t]+\w+(?=[ \t]+[{(]))?)[ \t]+)+"
)
"""Words before a command that the parser does not always know for what they are."""
_BRACED: Final = re.compile(r"(?<![^\s;&|(){}`])\{[^\s{}]*,[^\s{}]*\}(?![^\s;&|()`])")
_ROUGH_END: Final = re.compile(r"[;&|\n(){}`!]|\$\(")
_ROUGH_QUOTES: Final = re.compile(r"['\"\\]")


def read_all(script: str) -> Reading:
    """Find every command of a script."""
    try:
        reader = _Reader()
        reader.read(script)
        return reader.finished()
    except RecursionError:  # whatever bound was missed: what is not read is asked about
        return Reading((), is_whole=False)


def read_argv(argv: Sequence[str]) -> Reading:
    """Find every command that an argument list runs, itself included."""
    reader = _Reader()
    reader.add(FoundCommand(tuple(argv), text=" ".join(argv)))
    return reader.finished()


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
        files: WrittenFiles | None = None,
    ) -> None:
        self._budget = budget or _Budget()
        self._found: list[FoundCommand] = []
        self._is_whole = True
        self._has_errors = False
        self._depth = depth
        self._wrapped_in = wrapped_in
        self._words = WordValues()
        self._files = files or WrittenFiles()

    def finished(self) -> Reading:
        """Add what is known at the end: which written files run, and which copied programs."""
        for run in list(self._files.runs(self._found)):
            self._read_text(run.text, run.runner)
        for command in list(renamed(self._found)):
            self.add(command)
        return self.reading()

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
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a surrogate pair, which no shell can be given either
            self._is_whole = False
            return
        root = _bash().parse(data).root_node
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
            for word in command.argv:
                if SUBSCRIPT.search(word):
                    self._read_inner(f': "{word}"', "[")
            name = program(command.argv[0])
            if printing and name in _READERS:
                self._read_text(printing, name)
            if is_piped:
                before = command.argv
                self._note_tee(before, printing)
                printing = printed_by(before) or filtered(printing, before)

    def _note_tee(self, argv: Sequence[Word], text: Word) -> None:
        if argv and argv[0] == "tee":
            for word in argv[1:]:
                self._files.note(word, text)

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
        reading = _Reader(self._depth + 1, (*outer, wrapper), self._budget, self._files).read(
            script
        )
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
        else:
            self._note_hidden(node, kind)
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
            if reader := _reader_among(argv):
                self._note_fed_reader(node, reader)

    def _note_hidden(self, node: Node, kind: str) -> None:
        """Read commands in places where they do not look like it."""
        if kind == "variable_assignment":
            value = node.child_by_field_name("value")
            if value is not None:
                self._note_value(text_of(node.child_by_field_name("name")), value)
        elif kind == "raw_string" and SUBSCRIPT.search(text_of(node)):
            self._read_inner(f': "{text_of(node)[1:-1]}"', "[")
        elif kind in ("heredoc_body", "expansion") or (
            kind == "command_substitution" and "\\`" in text_of(node)
        ):
            start = node.prev_named_sibling if kind == "heredoc_body" else None
            if set(text_of(start)) & set("'\"\\"):
                return
            for found in _BACKQUOTES.finditer(text_of(node)):
                self._read_inner(found[1].replace("\\`", "`"), "`")

    def _note_value(self, variable: str, value: Node) -> None:
        """Read what a variable lets other programs run."""
        if is_run(variable):
            for script in self._words.of(value):
                if script is not None:
                    self._read_inner(script, variable)
        elif _PROMPT.fullmatch(variable):
            self._read_inner(f': "{text_of(value)[1:-1]}"', variable)
        elif value.type == "process_substitution":
            self._read_output(value.named_children, variable)

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

    def _note_fed_reader(self, node: Node, name: str) -> None:
        """Read here-strings and `<(echo …)` of what runs its input as scripts."""
        for child in node.named_children:
            part = child
            if child.type == "file_redirect":
                part = child.child_by_field_name("destination") or child
            if (fed := _here_string(child)) is not None:
                for value in self._words.of(fed):
                    self._read_text(value, name)
            elif part.type == "process_substitution":
                for inner in part.named_children:
                    self._read_output([inner], name)

    def _note_fed_body(self, node: Node) -> None:
        """Read what is fed to a statement: where a program runs it, or writes it to a file."""
        body = node.child_by_field_name("body")
        if body is None:
            return
        if name := self._program_of(body):
            self._note_fed_reader(node, name)
        for redirect in node.named_children:
            if redirect.type == "heredoc_redirect":
                self._note_document(body, redirect)
            elif redirect.type == "file_redirect":
                self._note_output([body], redirect.child_by_field_name("destination"))

    def _note_document(self, body: Node, redirect: Node) -> None:
        readers = self._stages(body)
        targets: list[Word] = [one.target for one in self._redirects(redirect)]
        for part in redirect.named_children:
            if part.type in ("pipeline", "command"):
                readers += self._stages(part)
        if redirect.parent is not None:
            targets += [one.target for one in self._redirects(redirect.parent)]
        targets += [w for r in readers for argv in self._words.argvs(r) for w in _tee_files(argv)]
        names = [name for name in map(self._program_of, readers) if name in _READERS]
        for part in redirect.named_children:
            if part.type == "heredoc_body":
                for target in targets:
                    self._files.note(target, text_of(part))
                for name in names[:1]:
                    self._read_text(text_of(part), name)

    def _stages(self, node: Node) -> list[Node]:
        return list(node.named_children) if node.type == "pipeline" else [node]

    def _program_of(self, node: Node) -> str:
        argvs = self._words.argvs(node)
        readers = filter(None, map(_reader_among, argvs))
        return next(readers, "") or next((program(argv[0]) for argv in argvs), "")

    def _note_pipeline(self, stages: list[Node]) -> None:
        for at, stage in enumerate(stages):
            name = self._program_of(stage)
            if at and name in _READERS:
                self._read_output(stages[:at], name)
                fed_by = tuple(filter(None, map(self._program_of, stages[:at])))
                if stage.type == "command" and name not in CODE_READERS:
                    self._note_command(stage, (), fed_by or ("",))
            elif at and stage.type in ("command", "redirected_statement"):
                self._note_output(stages[:at], stage)

    def _note_output(self, stages: list[Node], node: Node | None) -> None:
        """Read what goes to `>(sh)` as a script, and remember what goes to `tee FILE`."""
        if node is None:
            return
        parts = [node] if node.type == "process_substitution" else node.named_children
        for part in parts:
            if part.type == "process_substitution" and text_of(part).startswith(">("):
                for name in filter(None, map(self._program_of, part.named_children)):
                    self._read_output(stages, name)
        for argv in self._words.argvs(node):
            for target in _tee_files(argv):
                for text in self._outputs(stages):
                    self._files.note(target, text)

    def _read_output(self, stages: Sequence[Node], name: str) -> None:
        """Read what commands print as a script, where that is plain to see."""
        for text in self._outputs(stages):
            self._read_text(text, name)

    def _outputs(self, stages: Sequence[Node]) -> list[str]:
        texts: set[Word] = {None}
        for stage in stages:
            texts |= {
                value
                for child in (*stage.named_children, *(stage.parent or stage).named_children)
                if (fed := _here_string(child)) is not None
                for value in self._words.of(fed)
            }
            argvs = self._words.argvs(stage)[:MOST_VALUES] or [()]
            texts = {printed_by(argv) or filtered(text, argv) for argv in argvs for text in texts}
        return sorted(filter(None, texts))[:MOST_VALUES]

    def _read_text(self, text: Word, name: str) -> None:
        """Read what a program runs; some that print it undo its escapes, some do not."""
        name = program(name)
        if text is None:
            return
        if name in CODE_READERS:
            for script in code_scripts(name, text):
                if script is None:
                    self.add(FoundCommand(UNKNOWN, (), (*self._wrapped_in, name), text))
                else:
                    self._read_inner(script, name)
            return
        for form in dict.fromkeys((text, ansi_c_text(text))):
            self._read_inner(form, name)

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


def _here_string(node: Node) -> Node | None:
    """What `<<<` feeds; behind another redirection the parser reads it as an error and a `<`."""
    if node.type == "herestring_redirect":
        return node
    before = node.prev_sibling
    if node.type != "file_redirect" or before is None or before.type != "ERROR":
        return None
    is_one = text_of(before) == "<<" and text_of(node).startswith("<")
    return node.child_by_field_name("destination") if is_one else None


def _tee_files(argv: Sequence[Word]) -> list[Word]:
    return list(argv[1:]) if argv and argv[0] == "tee" else []


def _reader_among(argv: Sequence[Word], depth: int = 0) -> str:
    """The shell or the like that a command is or runs, wrapped up or not; else empty."""
    name = program(argv[0]) if argv else ""
    if name in _READERS:
        return name
    if depth < DEEPEST:
        for inner in inner_of(tuple(argv)):
            if inner.argv and (found := _reader_among(inner.argv, depth + 1)):
                return found
    return ""


def _expanded(script: str) -> str:
    """Undo braces, which begin a command in one place and are one in another."""
    return " ".join(
        " ".join(brace_texts(word)) if "{" in word and "," in word else word
        for word in re.split(r"[ \t]", script)
    )
