"""Takes files back in a process of its own, and is killed at the n-th step on the disk.

`rewind_worker.py HOME THREAD ACTION N`; prints how many steps there were where it lives.
"""

import os
import signal
import sys

from ferrule_overlay.mounts import Mounts
from ferrule_overlay.rewinding import Rewinds
from ferrule_overlay.shelf import Shelf

home, thread, action, last = sys.argv[1:]
steps = 0


def reached(_step):
    global steps
    steps += 1
    if steps == int(last):
        os.kill(os.getpid(), signal.SIGKILL)


shelf = Shelf(home, thread)
shelf.lock()
rewinds = Rewinds(shelf, reached)
rewinds.settle()
if action != "settle":
    with Mounts(shelf) as mounts:
        rewinds.undo(mounts.trees) if action == "undo" else rewinds.back(1, mounts.trees)
    rewinds.release()
print(steps)
