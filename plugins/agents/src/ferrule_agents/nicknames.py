"""What agents are called when nobody says: trees, easy to tell apart."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_TREES: Final = (
    *("Alder", "Almond", "Apple", "Aspen", "Bamboo", "Banyan", "Baobab", "Beech", "Birch"),
    *("Cedar", "Cherry", "Chestnut", "Cypress", "Ebony", "Elder", "Elm", "Fig", "Fir"),
    *("Ginkgo", "Hawthorn", "Hazel", "Hemlock", "Hickory", "Holly", "Hornbeam", "Juniper"),
    *("Larch", "Laurel", "Lemon", "Linden", "Magnolia", "Mahogany", "Mango", "Maple", "Mulberry"),
    *("Myrtle", "Oak", "Olive", "Palm", "Pear", "Pine", "Plane", "Plum", "Poplar", "Quince"),
    *("Redwood", "Rowan", "Sequoia", "Spruce", "Sycamore", "Tamarind", "Teak", "Walnut", "Yew"),
)


def nickname(taken: Collection[str], candidates: Sequence[str] = ()) -> str:
    """Choose a name that nobody has yet, with a number once all are taken."""
    names = candidates or _TREES
    for number in count(1):
        for name in names:
            full = name if number == 1 else f"{name} {number}"
            if full not in taken:
                return full
    raise AssertionError("count never ends")
