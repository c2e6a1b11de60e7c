"""What a test leaves behind is found, and what ends by itself is waited for."""

import gc
import os
import threading

from ferrule_testkit.leaks import LeakWatch


def test_a_descriptor_that_is_closed_in_a_moment_is_none_left_behind():
    """Such as a connection of a server of the test, whose client has gone meanwhile."""
    looked = threading.Event()
    ends = []

    def close():
        looked.wait()
        for number in ends:
            os.close(number)

    def note(phase, info):  # what is collected was looked for
        looked.set()

    closer = threading.Thread(target=close)
    closer.start()
    try:
        watch = LeakWatch()
        ends += os.pipe()
        gc.callbacks.append(note)
        assert watch.left() == []
    finally:
        if note in gc.callbacks:
            gc.callbacks.remove(note)
        looked.set()
        closer.join()
