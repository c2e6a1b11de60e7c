"""Rule files in plain lines.

allow prefix git status
allow prefix npm run test:*        # an unquoted * or ? is a wildcard, {a,b} are alternatives
allow exact make clean
allow prefix pytest args:tests/* writes:build/**
prompt prefix terraform apply reviewer:user because:"it costs money"
match terraform apply -auto-approve
no match terraform plan
forbidden prefix rm -rf
allow network protocol:https host:*.github.com port:443,8443
executable make /usr/bin/make
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, NoReturn

from ferrule_rules.building import (
    check_examples,
    decision_of,
    exact_host,
    justification_of,
    reviewer_of,
)
from ferrule_rules.rule import PROTOCOLS, Decision, Glob, NetworkRule, Place, Rule, RuleError, Token
from ferrule_rules.rule_file import LARGEST, Flaw, RuleFile, excerpt, may_restrict
from ferrule_rules.rule_set import host_paths

_DECISIONS: Final = {"allow", "prompt", "forbidden", "deny"}
_PIECE: Final = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^\s'\"\\]+)")
_OPTION: Final = re.compile(r"(args|writes|because|reviewer|protocol|host|port):")
_MOST_ALTERNATIVES: Final = 64


class _Word(NamedTuple):
    """A word of a line: its column, its text, and the same with `*` and `?` of quotes escaped."""

    column: int
    text: str
    pieces: tuple[tuple[str, bool], ...]

    @property
    def option(self) -> str:
        """The name before the colon, where the word is an option."""
        found = _OPTION.match(self.pieces[0][0]) if self.pieces and self.pieces[0][1] else None
        return found[1] if found else ""

    @property
    def value(self) -> str:
        """What stands behind the colon."""
        return self.text.partition(":")[2]

    def token(self) -> Token:
        """What the word stands for in a pattern."""
        is_quoted = not any(plain for _, plain in self.pieces)
        unquoted = "".join(text for text, plain in self.pieces if plain)
        if is_quoted or not any(sign in unquoted for sign in "*?{"):
            return frozenset((self.text,))
        if any(not plain and re.search(r"[*?{}]", text) for text, plain in self.pieces):
            raise RuleError("a word cannot hold wildcards both with and without quotes")
        texts = _alternatives(self.text)
        if not any(sign in text for text in texts for sign in "*?"):
            return frozenset(texts)
        if len(texts) > 1:
            raise RuleError("a word cannot hold both alternatives and wildcards")
        return Glob(texts[0])


class _LineError(RuleError):
    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.column = column


def read_lines(path: str, text: str) -> RuleFile:
    """Read a file line by line; a wrong line does not hide the others."""
    found = RuleFile(path)
    if len(text) > LARGEST:
        found.flaws.append(Flaw(path, 1, 1, "the file is larger than 4 MB", "", may_restrict(text)))
        return found
    reader = _Lines(found)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.read(line, Place(path, number))
        except RuleError as error:
            column = (
                error.column
                if isinstance(error, _LineError)
                else len(line) - len(line.lstrip()) + 1
            )
            found.flaws.append(
                Flaw(
                    path,
                    number,
                    column,
                    str(error),
                    excerpt(text, number, column),
                    may_restrict(line),
                )
            )
    return found


class _Lines:
    def __init__(self, found: RuleFile) -> None:
        self._found = found
        self._last: Rule | None = None

    def read(self, line: str, place: Place) -> None:
        words = _split(line)
        if not words:
            return
        if line[0] in " \t":
            self._example(words)
            return
        self._last = None
        head = words[0].text
        if head == "executable":
            self._executable(words, place)
        elif head not in _DECISIONS or len(words) < 2:
            _fail(words[0], "a line begins with allow, prompt, forbidden or executable")
        elif words[1].text == "network":
            self._found.rules.network.append(_network(words, place))
        elif words[1].text in ("prefix", "exact"):
            self._last = _rule(words, place)
            self._found.rules.add(self._last)
        else:
            _fail(words[1], f"`prefix`, `exact` or `network` is wanted after `{head}`")

    def _example(self, words: list[_Word]) -> None:
        texts = [word.text for word in words]
        wanted = texts[0] == "match"
        argv = texts[1:] if wanted else texts[2:]
        if not wanted and texts[:2] != ["no", "match"]:
            _fail(words[0], "an indented line begins with `match` or `no match`")
        if self._last is None:
            _fail(words[0], "there is no rule above this example")
        check_examples(self._last, [argv], wanted=wanted, rules=self._found.rules)

    def _executable(self, words: list[_Word], place: Place) -> None:
        if len(words) < 3:
            _fail(words[0], "write `executable NAME PATH…`")
        name, *paths = (word.text for word in words[1:])
        self._found.rules.hosts[name] = host_paths(name, paths, place)


def parse_line(line: str, place: Place) -> Rule | NetworkRule:
    """Read one rule.

    Raises:
        RuleError: The line is wrong.
    """
    found = RuleFile(place.file)
    _Lines(found).read(line, place)
    rules = [*found.rules.rules, *found.rules.network]
    if not rules:
        raise RuleError("the line holds no rule")
    return rules[0]


def _rule(words: list[_Word], place: Place) -> Rule:
    decision: Decision = "forbidden" if words[0].text == "deny" else decision_of(words[0].text)
    pattern: list[Token] = []
    options: dict[str, str] = {}
    for word in words[2:]:
        if option := word.option:
            if option in ("protocol", "host", "port"):
                _fail(word, f"`{option}:` belongs to rules about the network")
            options[option] = word.value
        elif options:
            _fail(word, "words of the command come before options")
        else:
            try:
                pattern.append(word.token())
            except RuleError as error:
                _fail(word, str(error))
    if not pattern:
        _fail(words[1], "the rule names no command")
    return Rule(
        tuple(pattern),
        decision,
        words[1].text == "exact",
        justification_of(options.get("because")),
        reviewer_of(options.get("reviewer")),
        _globs(options, "args"),
        _globs(options, "writes"),
        place,
    )


def _globs(options: dict[str, str], name: str) -> tuple[str, ...] | None:
    return tuple(options[name].split(",")) if name in options else None


def _network(words: list[_Word], place: Place) -> NetworkRule:
    options: dict[str, str] = {}
    for word in words[2:]:
        if word.option not in ("protocol", "host", "port", "because"):
            _fail(word, "write `protocol:`, `host:`, `port:` or `because:`")
        options[word.option] = word.value
    protocol = options.get("protocol", "")
    if protocol and protocol not in PROTOCOLS:
        _fail(words[1], f"the protocol must be one of {', '.join(PROTOCOLS)}")
    ports = options.get("port", "")
    if ports and not re.fullmatch(r"\d{1,5}(,\d{1,5})*", ports):
        _fail(words[1], "ports are numbers with commas between them")
    host = options.get("host", "")
    is_pattern = host == "*" or host.startswith("*.")
    return NetworkRule(
        host.lower() if is_pattern else exact_host(host),
        decision_of(words[0].text, is_network=True),
        PROTOCOLS.get(protocol, ""),
        tuple(int(port) for port in ports.split(",") if port),
        justification_of(options.get("because")),
        place,
    )


def _fail(word: _Word, message: str) -> NoReturn:
    raise _LineError(word.column, message)


def _split(line: str) -> list[_Word]:
    words: list[_Word] = []
    at = 0
    while at < len(line):
        if line[at] in " \t":
            at += 1
            continue
        if line[at] == "#":
            break
        start, pieces = at, list[tuple[str, bool]]()
        while at < len(line) and line[at] not in " \t":
            found = _PIECE.match(line, at)
            if found is None:
                raise _LineError(at + 1, "a quote is not closed")
            pieces.append(_piece(found))
            at = found.end()
        words.append(_Word(start + 1, "".join(text for text, _ in pieces), tuple(pieces)))
    return words


def _piece(found: re.Match[str]) -> tuple[str, bool]:
    single, double, escaped, plain = found.groups()
    if plain is not None:
        return plain, True
    if double is not None:
        return re.sub(r"\\(.)", r"\1", double), False
    return single if single is not None else escaped, False


def _alternatives(text: str) -> list[str]:
    found = re.search(r"\{([^{}]*,[^{}]*)\}", text)
    if found is None:
        return [text]
    texts: list[str] = []
    for part in found[1].split(","):
        texts += _alternatives(text[: found.start()] + part + text[found.end() :])
    if len(texts) > _MOST_ALTERNATIVES:
        raise RuleError("the word has too many alternatives")
    return texts
