"""The values that words of a script may have: quotes undone, constants and variables followed."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from ferrule_rules.reading import (
    MOST_VALUES,
    PRINTERS,
    UNKNOWN,
    GlobWord,
    SplitWord,
    Values,
    Word,
)
from ferrule_rules.words import ansi_c_text, brace_texts, unescaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_DEEPEST_WORD: Final = 24
_GROUPS: Final = frozenset({"negated_command", "subshell", "compound_statement", "list"})
_LOCATORS: Final = frozenset({"which", "command", "type", "whereis"})
_ASSIGNS: Final = re.compile(r"=|\bfor\b|\bselect\b")
_UNQUOTED_GLOB: Final = re.compile(r"(?<!\\)[*?\[]")
_DIRECTIVE: Final = re.compile(r"(?<!%)(%[-0-9.]*[a-zA-Z])")
_PLAIN_EXPANSION: Final = re.compile(r"\$\w+|\$\{\w+(\[[^]]*\])?\}")
_EXPANSIONS: Final = frozenset({"simple_expansion", "expansion", "command_substitution"})
_ALL_VALUES: Final = re.compile(r'"\$(@|\{@[^}]*\}|\{\w+\[@\]\})"')
_BLANK: Final = re.compile(r"[ \t\n]")
_LITERALS: Final = frozenset({"word", "number", "test_operator", "variable_name", "string_content"})
_SKIPPED: Final = frozenset({"variable_assignment", "file_redirect", "herestring_redirect"})


class WordValues:
    """Knows what the words of one script may be."""

    def __init__(self) -> None:
        self._variables: dict[str, set[Word]] = {"IFS": {" "}}
        self._aliases: dict[str, str] = {}
        self._depth = 0

    def learn(self, root: Node, script: str) -> None:
        """Note the values every variable is given anywhere, in any order."""
        if not _ASSIGNS.search(script):
            return
        nodes = [
            node
            for node in descendants(root)
            if node.type in ("variable_assignment", "for_statement", "command")
        ]
        for _ in range(2):  # a value may be made of variables that are set further down
            for node in nodes:
                self._learn_from(node)

    def _learn_from(self, node: Node) -> None:
        if node.type == "variable_assignment":
            self._learn_assignment(node)
        elif node.type == "for_statement":
            name = node.child_by_field_name("variable")
            for value in node.children_by_field_name("value") if name else ():
                self._assign(text_of(name), self.of(value))
        elif text_of(node).startswith("alias"):
            for words in self.argvs(node):
                for word in words[1:]:
                    name, sign, value = (word or "").partition("=")
                    if sign:
                        self._aliases[name] = value

    def _learn_assignment(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return
        values: Values = ("",) if value is None else self.of(value)
        if value is not None and value.type == "array":
            parts = [self.of(child)[0] for child in value.named_children]
            known = [part or "" for part in parts]
            values = (None,) if None in parts else (SplitWord("\0".join(known)),)
        is_reference = text_of(node.parent).startswith(("declare -n", "local -n", "typeset -n"))
        if is_reference or any(child.type == "+=" for child in node.children):
            values = (None,)
        self._assign(text_of(name), values)

    def _assign(self, name: str, values: Values) -> None:
        known = self._variables.setdefault(name, set())
        known.update(values)
        if len(known) > MOST_VALUES:
            self._variables[name] = {None}

    def argvs(self, node: Node, more: Sequence[Node] = ()) -> list[tuple[Word, ...]]:
        """Return the argument lists that a command may have; `more` are words further back."""
        if node.type == "redirected_statement":
            body = node.child_by_field_name("body")
            return self.argvs(body) if body is not None else []
        if node.type in _GROUPS:
            return [argv for child in node.named_children for argv in self.argvs(child)]
        if node.type not in ("command", "declaration_command", "unset_command"):
            return []
        children = [child for child in node.children if child.type not in _SKIPPED]
        parts = [self.of(child) for child in (*children, *more)]
        found: list[tuple[Word, ...]] = []
        if parts and None in parts[0] and _is_unquoted(children[0]):
            found.append(UNKNOWN)  # what is not known, and split by the shell, may be several words
        for argv in _products([values for values in parts if values]):
            split = _resplit(argv)
            if split and split[0] in self._aliases:
                split = _resplit((f"{self._aliases[split[0]]} ", *split[1:]))
            if split:
                found.append(split)
        return found

    def of(self, node: Node) -> Values:
        """Return the values a word may have."""
        if self._depth >= _DEEPEST_WORD:
            return (None,)
        self._depth += 1
        try:
            return self._of(node)
        finally:
            self._depth -= 1

    def _of(self, node: Node) -> Values:
        kind = node.type
        if kind in _LITERALS or not node.is_named:
            return _literal(text_of(node))
        if kind == "raw_string":
            return (text_of(node)[1:-1],)
        if kind == "ansi_c_string":
            return (ansi_c_text(text_of(node)[2:-1]),)
        if kind in ("string", "translated_string"):
            return self._string(node)
        if kind in ("command_name", "regex", "herestring_redirect"):
            children = node.named_children
            return self.of(children[0]) if len(children) == 1 else (None,)
        if kind == "concatenation":
            return self._joined(node)
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node)
        if kind == "command_substitution":
            return self._substitution(node)
        return (None,)

    def _joined(self, node: Node) -> Values:
        text = text_of(node)
        is_plain = all(child.type in _LITERALS for child in node.named_children)
        if "{" in text and "$" not in text and is_plain:
            texts = brace_texts(text)
            if len(texts) > 1:
                plain = (unescaped(part).replace('"', "").replace("'", "") for part in texts)
                return (SplitWord(" ".join(plain)),)
        return _concatenated([self.of(child) for child in node.children])

    def _string(self, node: Node) -> Values:
        if node.type == "translated_string":
            return self.of(node.named_children[0]) if node.named_children else ("",)
        if len(node.named_children) == 1 and text_of(node).endswith('[@]}"'):
            return self.of(node.named_children[0])
        parts: list[Values] = []
        at = node.start_byte + 1
        whole = node.text or b""
        for child in node.named_children:
            gap = whole[at - node.start_byte : child.start_byte - node.start_byte]
            if gap:
                parts.append((gap.decode("utf-8", "replace"),))
            if child.type == "string_content":
                parts.append((unescaped(text_of(child), in_quotes=True),))
            else:
                parts.append(self.of(child))
            at = child.end_byte
        return _concatenated(parts)

    def _expansion(self, node: Node) -> Values:
        children = node.named_children
        if not children:
            return (None,)
        name = children[0]
        if name.type == "subscript" and name.named_children:
            name = name.named_children[0]
        if name.type != "variable_name":
            return (None,)
        known = tuple(self._variables.get(text_of(name), {None}))
        if len(children) == 1:
            is_plain = _PLAIN_EXPANSION.fullmatch(text_of(node)) is not None
            return tuple(map(self._unquoted, known)) if is_plain else (None,)
        if re.match(r"\$\{\w+:?[-=]", text_of(node)):
            return tuple(dict.fromkeys((*known, *self.of(children[1]))))
        return (None,)

    def _substitution(self, node: Node) -> Values:
        """Know what `$(which git)` and `$(echo git)` give."""
        commands = node.named_children
        if len(commands) != 1:
            return (None,)
        words = next(iter(self.argvs(commands[0])), ())
        if None in words or not words:
            return (None,)
        if words[0] in _LOCATORS:
            named = [word for word in words[1:] if word is not None and not word.startswith("-")]
            return tuple(named[:1]) or (None,)
        return (self._unquoted(printed(words)),)

    def _unquoted(self, word: Word) -> Word:
        """Mark a value that the shell splits, and looks for wildcards in: it has no quotes."""
        if word is None or isinstance(word, SplitWord):
            return word
        separators = "".join(filter(None, self._variables["IFS"]))
        word = re.sub(f"[{re.escape(separators)}]", " ", word) if separators.strip() else word
        if _BLANK.search(word.strip()):
            return SplitWord(word)
        return glob_word(word)


def printed(words: Sequence[Word]) -> Word:
    """What a command prints, where that is plain to see."""
    if not words or words[0] not in PRINTERS or None in words:
        return None
    rest = [word for word in words[1:] if word is not None]
    if words[0] == "printf":
        return _formatted(rest)
    has_escapes = False
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        has_escapes = has_escapes or "e" in rest[0]
        rest = rest[1:]
    text = " ".join(rest)
    return ansi_c_text(text) if has_escapes else text


def _formatted(words: Sequence[str]) -> Word:
    """What `printf` makes of a format and its arguments; the format serves them all."""
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        return None
    parts = _DIRECTIVE.split(ansi_c_text(words[0]))
    wanted = len(parts) // 2
    if wanted == 0:
        return parts[0]
    arguments = list(words[1:])
    text = ""
    while True:
        taken, arguments = arguments[:wanted], arguments[wanted:]
        for at, part in enumerate(parts):
            value = part if at % 2 == 0 else (taken[at // 2 :] or [""])[0]
            text += ansi_c_text(value) if at % 2 and part.endswith("b") else value
        if not arguments:
            return text.replace("%%", "%")


def _is_unquoted(node: Node) -> bool:
    """Whether a word is one expansion without quotes, or all positional parameters."""
    inner = node.named_children[0] if node.type == "command_name" else node
    return inner.type in _EXPANSIONS or bool(_ALL_VALUES.fullmatch(text_of(inner)))


def text_of(node: Node | None) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "surrogateescape") if node is not None else ""


def descendants(node: Node) -> Iterator[Node]:
    """A node and all below it, in order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.named_children))


def _split(word: SplitWord) -> list[Word]:
    parts = word.split("\0") if "\0" in word else word.split()
    return list(map(glob_word, parts))


def glob_word(word: str) -> str:
    """Mark a word without quotes in which the shell finds wildcards."""
    return GlobWord(word) if re.search(r"[*?\[]", word) else word


def _literal(text: str) -> Values:
    if "{" in text:
        texts = brace_texts(text)
        if len(texts) > 1:
            return (SplitWord(" ".join(unescaped(part) for part in texts)),)
    if _UNQUOTED_GLOB.search(text):
        return (GlobWord(unescaped(text)),)
    return (unescaped(text),)


def _concatenated(parts: Sequence[Values]) -> Values:
    values: list[Word] = []
    for combination in _products(parts):
        if None in combination:
            values.append(None)
            continue
        joined = "".join(word for word in combination if word)
        has_glob = any(isinstance(word, GlobWord) for word in combination)
        values.append(GlobWord(joined) if has_glob else joined)
    return tuple(dict.fromkeys(values)) if parts else ("",)


def _products(parts: Sequence[Values]) -> list[tuple[Word, ...]]:
    """Combine the values of several words; too many of them make a word unknown."""
    count = 1
    bounded: list[Values] = []
    for values in parts:
        kept = values if count * len(values) <= MOST_VALUES else (None,)
        count *= len(kept)
        bounded.append(kept)
    return list(itertools.product(*bounded))


def _resplit(argv: tuple[Word, ...]) -> tuple[Word, ...]:
    """Split what braces gave, and a program's name with blanks, as an unquoted variable is."""
    if any(isinstance(word, SplitWord) for word in argv):
        split = [_split(word) if isinstance(word, SplitWord) else [word] for word in argv]
        argv = tuple(itertools.chain.from_iterable(split))
    if not argv or argv[0] is None or not _BLANK.search(argv[0]):
        return argv
    first = argv[0]
    parts = first.split()
    return (*(map(GlobWord, parts) if isinstance(first, GlobWord) else parts), *argv[1:])
