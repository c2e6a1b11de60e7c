"""`ferrule-opa-review`: reads a request for approval, has a policy decide, writes the answer.

It fails closed: whatever goes wrong ends it with 1 and nothing on standard output, which the
reviewer `command` takes for a refusal.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

QUERY: Final = "data.ferrule.review.answer"
_DECISIONS: Final = ("accept", "acceptForSession", "decline", "cancel", "escalate")
_MIXED_UP: Final = {"call": {"tool": "", "arguments": {}, "text": ""}, "escalation": True}


class UndecidedError(Exception):
    """The policy gave no answer that counts; says why."""


def main() -> int:
    """Run the program; returns its exit code."""
    arguments = _parser().parse_args()
    try:
        if arguments.check:
            decide(arguments.policy, arguments.data, _MIXED_UP)
            return 0
        answer = json.dumps(decide(arguments.policy, arguments.data, json.load(sys.stdin)))
    except (UndecidedError, OSError, TypeError, ValueError) as error:
        sys.stderr.write(f"ferrule-opa-review: {arguments.policy}: {error}\n")
        return 1
    sys.stdout.write(answer)
    return 0


def decide(policy: Path, data: Path | None, request: Any) -> dict[str, Any]:  # noqa: ANN401 -- JSON
    """Return what a policy answers to a request.

    Raises:
        UndecidedError: It cannot be evaluated, says nothing, or something that is no answer.
        OSError: A file cannot be read.
        ValueError: A file is no text, or no JSON.
    """
    from regopy import Interpreter, RegoError

    rego = Interpreter()
    # Without this a built-in function that fails makes its rule say nothing: a refusal would go.
    rego.strict_built_in_errors = True
    try:
        if data is not None:
            rego.add_data(json.loads(data.read_text("utf-8")))
        rego.add_module(policy.name, policy.read_text("utf-8"))
        rego.set_input(request)
        output = rego.query(QUERY)
    except RegoError as error:
        raise UndecidedError(f"it cannot be evaluated: {_in_a_line(error)}") from error
    if not output.ok():
        raise UndecidedError(f"it cannot be evaluated: {_in_a_line(output)}")
    found = [value for result in output.results for value in result.expressions]
    if len(found) != 1:
        raise UndecidedError(f"{QUERY} is undefined")
    answer = found[0]
    if not isinstance(answer, dict) or answer.get("decision") not in _DECISIONS:
        raise UndecidedError(f"{QUERY} has no decision: {answer!r}")
    return answer


def _in_a_line(said: object) -> str:
    return " ".join(str(said).split())


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="ferrule-opa-review", description="Have a Rego policy decide about a request."
    )
    made.add_argument("policy", type=Path, help=f"the policy; it defines {QUERY}")
    made.add_argument("--data", type=Path, metavar="FILE", help="JSON that is `data` of the policy")
    made.add_argument("--check", action="store_true", help="only say whether the policy works")
    return made


if __name__ == "__main__":
    sys.exit(main())
