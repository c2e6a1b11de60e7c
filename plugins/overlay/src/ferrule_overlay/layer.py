"""What a view keeps beside the workspace: the part that both mechanisms have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from ferrule_overlay.tree import Entry, Tree

Mechanism = Literal["overlayfs", "copy"]


class Layer(Protocol):
    """Where the files of a view lie that are not those of the workspace."""

    tree: Tree
    """The files; a path that `touched` gives a file for can be read here."""

    def touched(self) -> Mapping[str, Entry | None]:
        """What the view has at each path that it may have changed; None where it has nothing."""
        ...

    def changed(self) -> Iterator[os.stat_result]:
        """The status of everything that the layer has of its own, without looking into it."""
        ...

    def drop(self, paths: Iterable[str]) -> None:
        """Have the view show the workspace at these paths again."""
        ...

    def clear(self) -> None:
        """Have the view show the workspace everywhere."""
        ...
