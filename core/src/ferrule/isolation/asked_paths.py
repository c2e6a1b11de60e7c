"""Paths that a manifest asks for: where they lead, and by whose links."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.index import site_directories
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.entry import Entry
    from ferrule_hookspecs.plugins import PluginContext

_MOST_LINKS: Final = 40


class AskedPath(NamedTuple):
    """A path of a manifest.

    Attributes:
        written: As the manifest has it.
        place: Its canonical path.
        links: The links on the way to it, each by its canonical place.
    """

    written: str
    place: str
    links: tuple[str, ...]

    def leads_through(self, folders: Sequence[str]) -> str:
        """Return a link on the way that lies in one of these folders; empty where none does."""
        inside = (link for link in self.links if any(is_inside(link, one) for one in folders))
        return next(inside, "")


def resolved(written: str, context: PluginContext) -> AskedPath:
    """Follow a path in one go, so that its place and its links are those of the same moment.

    Raises:
        PluginError: It leads in circles.
    """
    path = written
    if path.startswith("~/"):
        home = context.environ.get("HOME") or os.path.expanduser("~")
        path = os.path.join(home, path[2:])
    links: list[str] = []
    here, rest = "/", path.split("/")[::-1]
    while rest:
        name = rest.pop()
        if name in ("", ".", ".."):
            here = os.path.dirname(here) if name == ".." else here
            continue
        step = os.path.join(here, name)
        try:
            target = os.readlink(step)
        except OSError:  # no link, or not there
            here = step
            continue
        links.append(step)
        if len(links) > _MOST_LINKS:
            raise PluginError(f"it asks for {written}, which leads through too many links")
        here = "/" if os.path.isabs(target) else here
        rest += target.split("/")[::-1]
    return AskedPath(written, here, tuple(links))


def changeable_folders(asked: Sequence[AskedPath], context: PluginContext) -> list[str]:
    """Return where somebody else than the user may have put a link.

    That is the plugin itself, in what it asks to change, and commands that write the workspace.
    """
    policy = resolve_policy(
        mode_to_policy(context.config, "workspace-write"),
        context.cwd,
        environ=context.environ,
        home=context.home,
        config=context.config,
    )
    return [*(path.place for path in asked), *(root.path for root in policy.writable_roots)]


def is_code(place: str, entry: Entry, home: str) -> bool:
    """Tell whether a folder holds, or belongs to, what runs in the process of Ferrule."""
    folders = [sys.prefix, sys.base_prefix, *site_directories(), *entry.roots]
    # A folder in which Ferrule was started stands there, too, and may hold anything.
    folders += [
        one for one in sys.path if os.path.isabs(one) and not is_inside(os.path.realpath(home), one)
    ]
    real = [os.path.realpath(one) for one in folders]
    return any(is_inside(one, place) or is_inside(place, one) for one in real)
