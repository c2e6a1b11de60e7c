"""Follows orders to change files in the current folder; what cannot be done is left undone."""

import json
import os
import shutil
import sys
from contextlib import suppress


def follow(order):
    path, other, mode = order["path"], order["other"], order["mode"]
    match order["kind"]:
        case "write" | "append" as kind:
            with open(path, "w" if kind == "write" else "a") as file:
                file.write(order["text"])
        case "remove":
            os.unlink(path)
        case "mkdir":
            os.makedirs(path, exist_ok=True)
        case "rmtree":
            shutil.rmtree(path)
        case "move":
            move(path, other)
        case "chmod":
            if not os.path.islink(path):
                os.chmod(path, mode)
        case "symlink":
            os.symlink(other, path)
        case "replace":
            spare = f"{path}.new"
            with open(spare, "w") as file:
                file.write(order["text"])
            os.chmod(spare, mode)
            try:
                os.replace(spare, path)
            except OSError:
                os.unlink(spare)


def move(path, other):
    """Rename as `mv` does: an overlay refuses to rename folders of the lower layer."""
    if os.path.lexists(other) or f"{other}/".startswith(f"{path}/"):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        os.rename(path, other)
    elif os.path.isdir(os.path.dirname(other) or "."):
        shutil.copytree(path, other, symlinks=True)
        shutil.rmtree(path)


for each in json.loads(sys.argv[1]):
    with suppress(OSError):
        follow(each)
