"""Runs a hook that is a function of an installed package, in this process."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import site
import sysconfig
from typing import TYPE_CHECKING

from ferrule_hooks.answers import AnswerError, failed, from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hooks.answers import Answer
    from ferrule_hooks.handler import Handler
    from ferrule_hooks.payloads import Payload


async def run_function(handler: Handler, payload: Payload) -> Answer:
    """Call the function with the payload; it returns what a command would write, or None.

    Raises:
        AnswerError: It cannot be found, or answered what is not understood.
    """
    from anyio import to_thread

    function = await to_thread.run_sync(_load, handler, abandon_on_cancel=True)
    try:
        if inspect.iscoroutinefunction(function):
            value: object = await function(payload)
        else:
            value = await to_thread.run_sync(function, payload, abandon_on_cancel=True)
    except Exception as error:  # noqa: BLE001 -- a hook's function may raise anything
        return failed(handler, f"raised {type(error).__name__}: {error}")
    return from_json(handler, value)


def _load(handler: Handler) -> Callable[[Payload], object]:
    module_name, _, name = handler.target.partition(":")
    try:
        _check_origin(module_name, handler.root)
        found: object = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except AnswerError:
        raise
    except Exception as error:
        raise AnswerError(f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise AnswerError("is no function")
    return found


def _check_origin(module_name: str, root: str) -> None:
    """Refuse a module that is not installed, or that the project brings along."""
    spec = importlib.util.find_spec(module_name.partition(".")[0])
    if spec is None or not spec.origin:
        raise AnswerError(f"needs the module {module_name!r}, which is not installed")
    if _lies_in_project(spec.origin, root):
        raise AnswerError(
            f"names {spec.origin}, which lies in the project; install its package instead"
        )


def _lies_in_project(origin: str, root: str) -> bool:
    """Tell whether a module is a file of the project; its virtual environment is none."""
    path = os.path.realpath(origin)
    installed = {
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
        site.getusersitepackages(),
    }
    if any(path.startswith(os.path.realpath(folder) + os.sep) for folder in installed):
        return False
    return bool(root) and path.startswith(root + os.sep)
