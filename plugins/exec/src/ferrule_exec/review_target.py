"""What `ferrule exec review` is to review: from its options to the contract's target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_exec.errors import ExecError
from ferrule_exec.prompt import Stdin, compose

if TYPE_CHECKING:
    from ferrule_exec.arguments import Arguments
    from ferrule_exec.stream import Stream
    from ferrule_hookspecs.change_review import ReviewTarget

_NO_TARGET: Final = (
    "Error: say what to review: --uncommitted, --base BRANCH, --commit SHA, or instructions of your"
    " own as the prompt"
)


def review_target(arguments: Arguments, progress: Stream) -> ReviewTarget:
    """Return the target; a prompt of `-` is read from stdin.

    Raises:
        ExecError: None was given.
    """
    if arguments.uncommitted:
        return {"type": "uncommittedChanges"}
    if arguments.base is not None:
        return {"type": "baseBranch", "branch": arguments.base}
    if arguments.commit is not None:
        return {"type": "commit", "sha": arguments.commit, "title": arguments.title}
    if arguments.prompt is None:
        raise ExecError(_NO_TARGET)
    words = arguments.prompt
    if words == "-":
        words = compose(words, Stdin(), progress)
    return {"type": "custom", "instructions": words}


def misuse(arguments: Arguments) -> str:
    """Say what is wrong with the options of a review; empty where nothing is."""
    options = {
        "--uncommitted": arguments.uncommitted,
        "--base": arguments.base is not None,
        "--commit": arguments.commit is not None,
        "--title": arguments.title is not None,
    }
    given = [name for name, is_given in options.items() if is_given]
    if arguments.action != "review":
        belong = "belongs" if len(given) == 1 else "belong"
        return f"{' and '.join(given)} {belong} to 'review'" if given else ""
    targets = [name for name in given if name != "--title"]
    targets += ["a prompt"] if arguments.prompt is not None else []
    if len(targets) > 1:
        return f"one thing is reviewed at a time, but {' and '.join(targets)} were given"
    if arguments.title is not None and arguments.commit is None:
        return "--title names the commit of --commit"
    others = {"--image": arguments.images, "--output-schema": arguments.schema_file}
    if wrong := [name for name, value in others.items() if value]:
        return f"{' and '.join(wrong)} cannot be used with 'review'"
    return ""
