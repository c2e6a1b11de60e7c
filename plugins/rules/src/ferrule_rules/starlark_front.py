"""Rule files in Starlark, which know `prefix_rule`, `exact_rule`, `network_rule` and more."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from ferrule_rules.building import (
    check_examples,
    decision_of,
    globs_of,
    justification_of,
    network_rule,
    pattern_of,
    reviewer_of,
)
from ferrule_rules.rule import Place, Rule, RuleError
from ferrule_rules.rule_file import LARGEST, Flaw, RuleFile, may_restrict
from ferrule_rules.rule_set import RuleSet, host_paths

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS: Final = 5.0
_DEEPEST: Final = 64
_WHERE: Final = re.compile(r"^ *--> .*?:(\d+):(\d+)$", re.M)
_EXCERPT: Final = re.compile(r"^ *--> .*\n((?: *\d* \|.*\n?)+)", re.M)
_MESSAGE: Final = re.compile(r"^error: (?:Parse error: )?(?:RuleError: )?(.*)", re.M)


def read_starlark(path: str, text: str) -> RuleFile:
    """Run a rule file; it can do nothing but make rules, for a limited time."""
    found = RuleFile(path)
    if len(text) > LARGEST:
        found.flaws.append(Flaw(path, 1, 1, "the file is larger than 4 MB", "", may_restrict(text)))
        return found
    try:
        import starlark
    except ImportError as error:
        message = f"Starlark cannot be read here ({error}); write the rules as plain lines"
        found.flaws.append(Flaw(path, 1, 1, message, "", may_restrict(text)))
        return found
    module = starlark.Module()
    for name, function in _Builtins(found.rules, Place(path)).functions().items():
        module.add_callable(name, function)
    end = time.monotonic() + SECONDS
    options = starlark.EvalOptions(
        check_cancelled=lambda: time.monotonic() > end, max_callstack_size=_DEEPEST
    )
    try:
        dialect = starlark.Dialect.extended()
        dialect.enable_f_strings = True
        tree = starlark.parse(path, text, dialect)
        starlark.eval_with(options, module, tree, starlark.Globals.standard())
    except starlark.StarlarkError as error:
        found.flaws.append(_flaw(path, str(error), text))
    except BaseException as error:
        # A bomb of memory ends in a panic of the library, which is no `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        found.flaws.append(Flaw(path, 1, 1, "it needs too much memory", "", may_restrict(text)))
    return found


def _flaw(path: str, error: str, text: str) -> Flaw:
    where = _WHERE.search(error)
    line, column = (int(where[1]), int(where[2])) if where else (1, 1)
    shown = _EXCERPT.search(error)
    said = _MESSAGE.search(error)
    message = said[1] if said else error.strip().partition("\n")[0]
    if message == "Evaluation cancelled":
        message = f"it takes longer than {SECONDS:g} s"
    lines = [part for part in (shown[1] if shown else "").splitlines() if part.strip(" |")]
    return Flaw(path, line, column, message, "\n".join(lines), may_restrict(text))


class _Builtins:
    """The functions a rule file may call."""

    def __init__(self, rules: RuleSet, place: Place) -> None:
        self._rules = rules
        self._place = place

    def functions(self) -> dict[str, Callable[..., object]]:
        """The functions by name."""
        return {
            "prefix_rule": self.prefix_rule,
            "exact_rule": self.exact_rule,
            "network_rule": self.network_rule,
            "host_executable": self.host_executable,
            "glob": self.glob,
        }

    def prefix_rule(
        self,
        pattern: object,
        decision: object = "allow",
        match: object = None,
        not_match: object = None,
        justification: object = None,
        reviewer: object = None,
        args: object = None,
        writes: object = None,
    ) -> None:
        rule = Rule(
            pattern_of(pattern),
            decision_of(decision),
            False,
            justification_of(justification),
            reviewer_of(reviewer),
            globs_of(args, "args"),
            globs_of(writes, "writes"),
            self._place,
        )
        self._add(rule, match, not_match)

    def exact_rule(
        self,
        pattern: object,
        decision: object = "allow",
        match: object = None,
        not_match: object = None,
        justification: object = None,
        reviewer: object = None,
        writes: object = None,
    ) -> None:
        rule = Rule(
            pattern_of(pattern),
            decision_of(decision),
            True,
            justification_of(justification),
            reviewer_of(reviewer),
            None,
            globs_of(writes, "writes"),
            self._place,
        )
        self._add(rule, match, not_match)

    def _add(self, rule: Rule, match: object, not_match: object) -> None:
        if not rule.pattern:
            raise RuleError("the pattern must be a list with at least one word")
        check_examples(rule, match, wanted=True, rules=self._rules)
        check_examples(rule, not_match, wanted=False, rules=self._rules)
        self._rules.add(rule)

    def network_rule(
        self, host: object, protocol: object, decision: object, justification: object = None
    ) -> None:
        rule = network_rule(host, protocol, decision, justification, self._place)
        self._rules.network.append(rule)

    def host_executable(self, name: object, paths: object) -> None:
        if not isinstance(name, str):
            raise RuleError(f"a program's name is wanted, not {name!r}")
        texts = globs_of(paths, "paths")
        if not texts:
            raise RuleError("paths must be a list with at least one absolute path")
        self._rules.hosts[name] = host_paths(name, texts, self._place)

    def glob(self, text: object) -> dict[str, object]:
        if not isinstance(text, str) or not text:
            raise RuleError(f"glob() wants a text such as 'test:*', not {text!r}")
        return {"glob": text}
