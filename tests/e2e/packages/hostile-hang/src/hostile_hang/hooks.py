"""Hangs in an observing hook, in a way that no cancellation reaches."""

import time

from ferrule_hookspecs import hookimpl


@hookimpl
def ferrule_turn_start(turn) -> None:
    while True:
        time.sleep(3600)
