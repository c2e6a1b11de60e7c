"""Raises in an observing hook."""

from ferrule_hookspecs import hookimpl


@hookimpl
def ferrule_turn_start(turn) -> None:
    raise ValueError("hostile hook")
