"""The actions of `ferrule changes`, on the thread that is meant."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_overlay.batches import Batches
from ferrule_overlay.change import pending_changes
from ferrule_overlay.mounts import Mounts
from ferrule_overlay.output import Facts, nothing, show, show_log, tell, tell_undo
from ferrule_overlay.rewinding import Rewinds
from ferrule_overlay.selection import Selection, absolute
from ferrule_overlay.shelf import Shelf, stored_threads
from ferrule_overlay.taking_over import Result, apply, discard, rollback

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Mapping

    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_hookspecs.policies import WorkspaceWrite
    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_overlay.journal import Batch


def run(arguments: argparse.Namespace, host: Host) -> int:
    """Do what a command line asks for; returns the exit code."""
    shelf = _shelf(arguments.thread, host)
    if shelf is None:
        return nothing(as_json=arguments.json)
    return _ACTIONS[arguments.action](arguments, host, shelf)


def _shelf(thread: str | None, host: Host) -> Shelf | None:
    """The thread that is meant; None where none was named and there is none here.

    Raises:
        FerruleError: The named one has nothing.
    """
    stored = stored_threads(host.home)
    if thread is None:
        here = os.path.realpath(os.getcwd())
        for about in stored:
            if any(here == root or here.startswith(f"{root}/") for root in about.roots):
                return Shelf(host.home, about.thread_id)
        return None
    known = [about.thread_id for about in stored]
    found = [each for each in known if each == thread or each.startswith(thread)]
    if not found:
        named = _named(thread, host)
        found = [each for each in known if each == named]
    if len(found) != 1:
        many = "several threads begin so" if found else "no session with an overlay has that name"
        raise FerruleError(f"{thread}: {many}; 'ferrule threads list' shows the ids")
    return Shelf(host.home, found[0])


def _named(name: str, host: Host) -> str | None:
    async def find(kernel: Kernel) -> str | None:
        kernel.config(ConfigRequest(os.getcwd()))
        found = kernel.threads.store.find(name)
        return None if found is None else found.thread_id

    return host.run(find)


def _policy(host: Host, shelf: Shelf) -> ResolvedPolicy:
    """What may be written where the thread works, as the evaluator reads it."""
    roots = [root.path for root in shelf.roots]
    cwd = roots[0] if shelf.about is None else shelf.about.cwd

    async def resolve(kernel: Kernel) -> ResolvedPolicy:
        config = kernel.config(ConfigRequest(cwd))
        wanted: WorkspaceWrite = {"type": "workspaceWrite", "writableRoots": roots}
        return kernel.sandbox(config, cwd, policy=wanted).policy

    return host.run(resolve)


def _selection(arguments: argparse.Namespace, shelf: Shelf) -> Selection:
    return Selection(
        absolute(arguments.file, shelf),
        arguments.hunk,
        absolute(arguments.theirs, shelf),
        absolute(arguments.ours, shelf),
    )


def _show(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    is_open = shelf.is_locked()
    recovered: list[Batch] = []
    if not is_open:
        with _opened(shelf) as batches:
            recovered = batches.recover()
    changes = _selection(arguments, shelf).chosen(pending_changes(shelf))
    policy = _policy(host, shelf) if changes else None
    show(shelf, changes, Facts(is_open, policy, recovered), as_json=arguments.json)
    return 0


def _apply(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    policy = _policy(host, shelf)
    with _opened(shelf) as batches:
        batches.recover()
        result = apply(shelf, batches, _selection(arguments, shelf), policy)
    return tell(shelf, "applied", result, as_json=arguments.json)


def _discard(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    with _opened(shelf) as batches:
        batches.recover()
        result = discard(shelf, _selection(arguments, shelf))
    return tell(shelf, "discarded", result, as_json=arguments.json)


def _rollback(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    policy = _policy(host, shelf)
    with _opened(shelf) as batches:
        batches.recover()
        number = arguments.batch
        batch = batches.last_applied() if number is None else batches.find(number)
        result = rollback(shelf, batches, batch, _selection(arguments, shelf), policy)
    return tell(shelf, "taken back", result, as_json=arguments.json)


def _rewind(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    with _opened(shelf) as batches:
        batches.recover()
        rewinds = Rewinds(shelf)
        with Mounts(shelf) as mounts:
            if arguments.undo:
                rewound = rewinds.undo(mounts.trees)
            else:
                rewound = rewinds.back(arguments.turns, mounts.trees)
        rewinds.release()
    result = Result(0, rewound.done, rewound.left)
    code = tell(shelf, "as it was", result, as_json=arguments.json)
    if not arguments.json:
        tell_undo(shelf)
    return code


def _forget(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    with _opened(shelf) as batches:
        batches.recover()
        if pending := pending_changes(shelf):
            raise FerruleError(
                f"thread {shelf.thread_id} has {len(pending)} pending changes; apply them, or"
                " discard them with --all, before it is forgotten"
            )
        shelf.remove()
    return tell(shelf, "forgotten", Result(0, [shelf.path], {}), as_json=arguments.json)


def _log(arguments: argparse.Namespace, host: Host, shelf: Shelf) -> int:
    show_log(shelf, Batches(shelf).journal.batches(), as_json=arguments.json)
    return 0


@contextmanager
def _opened(shelf: Shelf) -> Generator[Batches]:
    """Work on a shelf with everybody else kept out."""
    lock = shelf.lock()
    try:
        Rewinds(shelf).settle()
        yield Batches(shelf)
    finally:
        os.close(lock)


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace, Host, Shelf], int]]] = {
    "show": _show,
    "apply": _apply,
    "discard": _discard,
    "rollback": _rollback,
    "rewind": _rewind,
    "log": _log,
    "forget": _forget,
}
