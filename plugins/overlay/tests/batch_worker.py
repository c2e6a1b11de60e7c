"""Applies or takes back in a process of its own, and is killed at the n-th step on the disk.

`batch_worker.py HOME WORKSPACE THREAD ACTION N`; prints how many steps there were where it lives.
"""

import os
import signal
import sys

from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot
from ferrule_overlay.batches import Batches
from ferrule_overlay.selection import Selection
from ferrule_overlay.shelf import Shelf
from ferrule_overlay.taking_over import apply, rollback

home, workspace, thread, action, last = sys.argv[1:]
steps = 0


def reached(_step):
    global steps
    steps += 1
    if steps == int(last):
        os.kill(os.getpid(), signal.SIGKILL)


shelf = Shelf(home, thread)
shelf.lock()
policy = ResolvedPolicy("workspace-write", workspace, writable_roots=(WritableRoot(workspace),))
batches = Batches(shelf, reached)
batches.recover()
if action == "apply":
    apply(shelf, batches, Selection(), policy)
elif action == "rollback":
    rollback(shelf, batches, batches.find(1), Selection(), policy)
print(steps)
