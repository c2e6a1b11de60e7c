"""Runs `ferrule review`: a thread with one review in it, shown while it goes on."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_hookspecs.errors import ConfigError, FerruleError, InterruptedByUserError
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.change_review import ReviewFindings
    from ferrule_hookspecs.host import Config, Host, Kernel, Session
    from ferrule_review.arguments import Arguments

_CLOSE_S: Final = 10.0
_UNFINISHED: Final = "the review was interrupted"


def run(arguments: Arguments, host: Host) -> int:
    """Run to the end; errors are one sentence on stderr."""

    async def main(kernel: Kernel) -> None:
        await _review(kernel, arguments, config)

    try:
        config = _config(arguments, host)
        host.run(main)
    except (InterruptedByUserError, KeyboardInterrupt):
        _tell(f"Error: {_UNFINISHED}")
        return 1
    except FerruleError as error:
        _tell(f"Error: {error}")
        return 1
    except BrokenPipeError:  # whoever read the result wants no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return 0


def _config(arguments: Arguments, host: Host) -> Config:
    """Read the configuration; where only a person could be asked, nobody is.

    Raises:
        FerruleError: It is wrong, or the folder does not exist.
    """
    if not os.path.isdir(arguments.cwd):
        raise FerruleError(f"the folder {arguments.cwd!r} does not exist")
    flags: dict[str, object] = {}
    if arguments.model:
        flags |= {"model": arguments.model, "review_model": arguments.model}

    def read(more: Mapping[str, object]) -> Config:
        return host.config(
            ConfigRequest(
                arguments.cwd, arguments.profile, arguments.overrides, flags={**flags, **more}
            )
        )

    try:
        config = read({"approval_policy": "never"})
    except ConfigError:  # the administrator may not allow it
        return read({})
    return config if config.get("approvals_reviewer", "user") == "user" else read({})


async def _review(kernel: Kernel, arguments: Arguments, config: Config) -> None:
    import anyio

    session = await kernel.threads.start(ThreadOptions(config=config, cwd=arguments.cwd))
    has_begun = False
    try:
        if session.facts.sandbox_policy["type"] in ("dangerFullAccess", "externalSandbox"):
            _tell("warning: nothing of ours confines the commands of this review")
        await session.perform(
            {
                "id": "review",
                "method": "review/start",
                "params": {"threadId": session.thread["id"], "target": arguments.target},
            }
        )
        has_begun = True
        text, findings = await _result(session)
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await session.close()
        if not has_begun:  # an empty thread would be the last one to resume
            with suppress(FerruleError):
                kernel.threads.store.delete(session.thread["id"])
    as_json = json.dumps(findings, ensure_ascii=False, indent=2) + "\n"
    if arguments.output is not None:
        _write(arguments.output, as_json)
    shown = as_json if arguments.json else f"{text}\n"
    # A lone surrogate may come from a model's JSON and has no UTF-8 form.
    sys.stdout.buffer.write(shown.encode(errors="replace"))
    sys.stdout.buffer.flush()
    _tell(f'to have it mended: ferrule exec resume {session.thread["id"]} "mend the findings"')


async def _result(session: Session) -> tuple[str, ReviewFindings]:
    """Follow the review to its end, and show what happens.

    Raises:
        FerruleError: It came to no result.
    """
    found: tuple[str, ReviewFindings] | None = None
    async for event in session.events():
        params = cast("dict[str, Any]", event["params"])
        match event["method"]:
            case "item/started":
                _show(params["item"], session)
            case "item/completed" if "findings" in params["item"]:
                found = params["item"]["review"], params["item"]["findings"]
            case "warning":
                _tell(f"warning: {params['message']}")
            case "error" if params["willRetry"]:
                _tell(params["error"]["message"])
            case "turn/completed":
                if found is not None and params["turn"]["status"] == "completed":
                    return found
                error = params["turn"].get("error")
                raise FerruleError(error["message"] if error else _UNFINISHED)
            case _:
                pass
    raise FerruleError("the session ended before the review did")


def _show(item: Mapping[str, Any], session: Session) -> None:
    if item["type"] == "enteredReviewMode":
        _tell(f"reviewing {item['review']} in {session.thread['cwd']}")
    elif item["type"] == "commandExecution":
        _tell(f"$ {item['command']}")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise FerruleError(
            f"the findings cannot be written to {path!r}: {error.strerror}"
        ) from error


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
