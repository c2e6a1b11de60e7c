"""What a resolved policy is in Seatbelt's words: a profile and its parameters.

Each kind of access has one rule that grants it and names its exceptions in itself, so that nothing
depends on the order of rules. Seatbelt judges by paths, where the other sandboxes judge by mounts:
who may rename a folder may reach what lies in it under another name. So all folders on the way from
a writable root to something protected or unreadable must keep their names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_hookspecs.evaluator import is_inside
from ferrule_sandbox_seatbelt.platform_rules import DEVICES, NETWORK, PROCESSES, SYSTEM
from ferrule_sandbox_seatbelt.quoting import place_pattern, scheme_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule_hookspecs.sandbox import Door, ResolvedPolicy

_OTHER_TERMINALS: Final = '(require-not (regex "^/dev/ttys[0-9]+$"))'
_CONTENT: Final = (
    "file-write-acl file-write-data file-write-flags file-write-mode file-write-owner"
    " file-write-times file-write-xattr"
)
_NAMES: Final = "file-write-create file-write-unlink"


class Profile(NamedTuple):
    """The text of a profile, and the paths that it names by parameter."""

    text: str
    parameters: tuple[tuple[str, str], ...]


def make_profile(
    policy: ResolvedPolicy, scratch: str | None = None, door: Door | None = None
) -> Profile:
    """Say a policy in the profile language.

    Args:
        policy: The policy.
        scratch: A private folder that may be written although nothing else may.
        door: The only way to the network where that is off.

    Raises:
        PolicyUnenforceableError: A path is not text, as all paths on macOS are.
    """
    roots = _unique(sorted(root.path for root in policy.writable_roots))
    draft = _Draft(roots)
    hidden = _with_targets(policy.deny_read)
    kept = _unique(
        path for root in policy.writable_roots for path in (*root.read_only, *root.forbidden)
    )
    pinned = [path for root in policy.writable_roots for path in root.pinned]
    fixed = _fixed_names(roots, [*kept, *hidden, *pinned])
    unreadable = draft.exceptions("HIDDEN", hidden)
    sections = [PROCESSES, _reading(unreadable)]
    writable = draft.granted([*roots, *([scratch] if scratch else ())])
    if writable:
        refused = [*unreadable, *draft.exceptions("PROTECTED", kept)]
        sections += [
            _rule(_CONTENT, [writable, *refused]),
            _rule(_NAMES, [writable, *refused, *draft.names("FIXED", fixed)]),
        ]
    sections += [DEVICES, SYSTEM]
    if policy.network:
        sections.append(NETWORK)
    elif door is not None:
        sections.append(f'(allow network-outbound (remote ip "localhost:{door.port:d}"))\n')
    return Profile("\n".join(sections), tuple(draft.parameters))


class _Draft:
    """The parameters of a profile while it is written.

    The letters of a root count as they are, since nothing else is granted; sorted, the outermost
    one comes first.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self.parameters: list[tuple[str, str]] = []

    def granted(self, paths: Sequence[str]) -> str:
        """A filter for all that lies in one of these folders; empty without any."""
        filters = [f"(subpath {each})" for each in self._named("WRITABLE", paths)]
        return f"(require-any {' '.join(filters)})" if filters else ""

    def exceptions(self, kind: str, paths: Sequence[str]) -> list[str]:
        """Filters that leave out these places and all below them, however they are written."""
        filters: list[str] = []
        for path, each in zip(paths, self._named(kind, paths), strict=True):
            folder = next((root for root in self._roots if is_inside(path, root)), "")
            pattern = scheme_string(place_pattern(folder, path))
            filters += [
                f"(require-not (literal {each}))",
                f"(require-not (subpath {each}))",
                f"(require-not (regex {pattern}))",
            ]
        return filters

    def names(self, kind: str, paths: Sequence[str]) -> list[str]:
        """Filters that leave out these names, but not what lies below."""
        return [f"(require-not (literal {each}))" for each in self._named(kind, paths)]

    def _named(self, kind: str, paths: Sequence[str]) -> list[str]:
        named: list[str] = []
        for number, path in enumerate(paths):
            _check(path)
            self.parameters.append((f"{kind}_{number}", path))
            named.append(f'(param "{kind}_{number}")')
        return named


def _reading(unreadable: Sequence[str]) -> str:
    """Everything but the unreadable places and terminals of others; what a place is may be seen."""
    rule = _rule("file-read*", ['(subpath "/")', *unreadable, _OTHER_TERMINALS])
    return f"{rule}(allow file-read-metadata)\n(allow file-test-existence)\n"


def _rule(operations: str, filters: Sequence[str]) -> str:
    lines = "\n    ".join(filters)
    return f"(allow {operations}\n  (require-all\n    {lines}))\n"


def _fixed_names(roots: Sequence[str], places: Sequence[str]) -> list[str]:
    """The folders that may be neither renamed nor removed: roots, and what holds a place."""
    fixed = dict.fromkeys(roots)
    for place in (*places, *roots):
        folder = place
        while any(is_inside(folder, root) for root in roots):
            fixed[folder] = None
            folder = os.path.dirname(folder)
    return list(fixed)


def _with_targets(paths: Iterable[str]) -> list[str]:
    """Paths, and where those that are links lead to."""
    return _unique(each for path in paths for each in (path, os.path.realpath(path)))


def _unique(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def _check(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise PolicyUnenforceableError(
            f"the sandbox seatbelt cannot name {path!r}, which is not UTF-8; rename it"
        ) from None
