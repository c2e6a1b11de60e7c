"""Carries a planned batch out in the workspace; doing it again continues where it was cut off.

Every step looks first: what is in its new state is done, what is in its old state is brought
over, and what is in neither belongs to somebody else and is left alone. A file is put in place by
swapping it with a finished one beside it, and what comes out of the swap is looked at once more
before it goes, so that not even an edit of that very moment is lost. Nothing is remembered but the
plan.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from ferrule_overlay.renaming import exchange, move_new, swap_name
from ferrule_overlay.tree import Entry, Tree, look_in, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_overlay.journal import Batch, Transition
    from ferrule_overlay.objects import ObjectStore

SPARE_PREFIX: Final = ".ferrule-changes-"
_MEANWHILE: Final = "it was changed meanwhile"
_OPEN: Final = 0o700


class CarryingOut:
    """One run over the plan of a batch."""

    def __init__(
        self,
        batch: Batch,
        trees: Sequence[Tree],
        objects: ObjectStore,
        reached: Callable[[str], None],
    ) -> None:
        """Take the plan and what it needs; `reached` is called after every step on the disk."""
        self._batch = batch
        self._trees = trees
        self._objects = objects
        self._reached = reached
        self.left: dict[str, str] = {}

    def run(self) -> None:
        """Do what is not done yet; `left` then tells what could not be done."""
        plan = list(self._batch.transitions)
        inner_first = sorted(plan, key=_depth, reverse=True)
        outer_first = sorted(plan, key=_depth)
        for number, each in enumerate(plan):
            self._try(each, lambda each, number=number: self._clean_up(each, number))
        for each in outer_first:
            self._try(each, self._open_folder)
        for each in inner_first:
            self._try(each, self._remove)
        for each in outer_first:
            self._try(each, self._make_folder)
        for number, each in enumerate(plan):
            self._try(each, lambda each, number=number: self._fill(each, number))
        for each in inner_first:
            self._try(each, self._dress_folder)
        for each in plan:
            place = self._place(each)
            if place not in self.left and not same(self._look(each), each.after):
                self.left[place] = _MEANWHILE

    def _try(self, each: Transition, step: Callable[[Transition], None]) -> None:
        place = self._place(each)
        if place in self.left:
            return
        try:
            step(each)
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                self.left[place] = "something else is in it"
            else:
                self.left[place] = (error.strerror or str(error)).lower()

    def _open_folder(self, each: Transition) -> None:
        """Let the owner work in a folder that is there and will change its mode."""
        if not (_is_folder(each.before) and _is_folder(each.after)):
            return
        found = self._look(each)
        if found is not None and same(found, each.before) and found.mode & _OPEN != _OPEN:
            self._chmod(each, found.mode | _OPEN)

    def _remove(self, each: Transition) -> None:
        before, after = each.before, each.after
        if before is None or (after is not None and _is_folder(before) == _is_folder(after)):
            return
        found = self._look(each)
        if found is None or (after is not None and found.kind == after.kind):
            return
        if not same(found, before):
            self.left[self._place(each)] = _MEANWHILE
            return
        with self._tree(each).folder_of(each.path) as (folder, name):
            if before.is_folder:
                os.rmdir(name, dir_fd=folder)
            else:
                self._take_out(each, folder, name)
        self._reached(f"removed {each.path}")

    def _take_out(self, each: Transition, folder: int, name: str) -> None:
        """Move a file aside and look at it again before it is gone for good."""
        spare = self._spare(self._batch.transitions.index(each))
        move_new(folder, name, spare)
        self._reached(f"moved aside {each.path}")
        if same(look_in(folder, spare), each.before):
            os.unlink(spare, dir_fd=folder)
            return
        self._give_back(each, folder, spare, name)
        self.left[self._place(each)] = _MEANWHILE

    def _make_folder(self, each: Transition) -> None:
        if not _is_folder(each.after) or each.after is None or self._look(each) is not None:
            return
        with self._tree(each).folder_of(each.path) as (folder, name):
            os.mkdir(name, each.after.mode | _OPEN, dir_fd=folder)
            os.chmod(name, each.after.mode | _OPEN, dir_fd=folder)
            _give(folder, name, each.after)
        self._reached(f"made {each.path}")

    def _fill(self, each: Transition, number: int) -> None:
        after = each.after
        if after is None or after.is_folder:
            return
        found = self._look(each)
        if same(found, after):
            return
        is_free = found is None and (each.before is None or _is_folder(each.before))
        if not is_free and not same(found, each.before):
            self.left[self._place(each)] = _MEANWHILE
            return
        with self._tree(each).folder_of(each.path) as (folder, name):
            spare = self._spare(number)
            self._stage(folder, spare, after)
            self._reached(f"staged {each.path}")
            if found is None:
                move_new(folder, spare, name)
                self._reached(f"put in place {each.path}")
                return
            exchange(folder, spare, name)
            self._reached(f"swapped {each.path}")
            self._judge_what_came_out(each, folder, spare, name)
        self._reached(f"finished {each.path}")

    def _judge_what_came_out(self, each: Transition, folder: int, spare: str, name: str) -> None:
        if same(look_in(folder, spare), each.before):
            os.unlink(spare, dir_fd=folder)
            return
        exchange(folder, spare, name)
        os.unlink(spare, dir_fd=folder)
        self.left[self._place(each)] = _MEANWHILE

    def _stage(self, folder: int, spare: str, entry: Entry) -> None:
        if entry.kind == "symlink":
            os.symlink(entry.digest, spare, dir_fd=folder)
            _give(folder, spare, entry)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(spare, flags, 0o600, dir_fd=folder)
        with (
            os.fdopen(descriptor, "wb") as file,
            open(self._objects.place(entry.digest), "rb") as content,
        ):
            while block := content.read(1 << 20):
                file.write(block)
            file.flush()
            _give(folder, spare, entry)
            os.fchmod(file.fileno(), entry.mode)
            os.fsync(file.fileno())

    def _dress_folder(self, each: Transition) -> None:
        after = each.after
        if after is None or not after.is_folder:
            return
        found = self._look(each)
        if found is None or not found.is_folder or found.mode == after.mode:
            return
        known = {after.mode | _OPEN}
        if each.before is not None and each.before.is_folder:
            known |= {each.before.mode, each.before.mode | _OPEN}
        if found.mode in known:
            self._chmod(each, after.mode)

    def _chmod(self, each: Transition, mode: int) -> None:
        with self._tree(each).folder_of(each.path) as (folder, name):
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
        self._reached(f"changed the mode of {each.path}")

    def _clean_up(self, each: Transition, number: int) -> None:
        """Take away what an earlier run left beside a file, unless it is somebody's."""
        spare = self._spare(number)
        try:
            with self._tree(each).folder_of(each.path) as (folder, name):
                self._end_swap(folder, spare, name)
                left = look_in(folder, spare)
                if left is None:
                    return
                status = os.lstat(spare, dir_fd=folder)
                is_unfinished = stat.S_IMODE(status.st_mode) == 0o600 and same(
                    look_in(folder, name), each.before
                )
                if same(left, each.before) and look_in(folder, name) is None:
                    self._give_back(each, folder, spare, name)
                elif same(left, each.before) or same(left, each.after) or is_unfinished:
                    os.unlink(spare, dir_fd=folder)
                elif same(look_in(folder, name), each.after):
                    exchange(folder, spare, name)
                    os.unlink(spare, dir_fd=folder)
                    self.left[self._place(each)] = _MEANWHILE
                else:
                    self._give_back(each, folder, spare, name)
                self._reached(f"cleaned up beside {each.path}")
        except (FileNotFoundError, NotADirectoryError):
            return  # its folder is yet to be made

    def _end_swap(self, folder: int, spare: str, name: str) -> None:
        """Finish a swap by three renames, where the system knows no other."""
        if look_in(folder, swap_name(spare)) is None:
            return
        move_new(folder, swap_name(spare), name if look_in(folder, name) is None else spare)

    def _give_back(self, each: Transition, folder: int, spare: str, name: str) -> None:
        """Put something of the user's back under its name, or a new one where that is taken."""
        try:
            move_new(folder, spare, name)
        except FileExistsError:
            kept = f"{name}.kept-{self._batch.number}"
            move_new(folder, spare, kept)
            self.left[self._place(each)] = f"{_MEANWHILE}, twice; one version is now {kept}"

    def _look(self, each: Transition) -> Entry | None:
        return self._tree(each).look(each.path)

    def _tree(self, each: Transition) -> Tree:
        return self._trees[each.root]

    def _place(self, each: Transition) -> str:
        return os.path.join(self._tree(each).path, each.path)

    def _spare(self, number: int) -> str:
        return f"{SPARE_PREFIX}{self._batch.number}-{number}"


def _depth(each: Transition) -> int:
    return each.path.count("/")


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.is_folder


def _give(folder: int, name: str, entry: Entry) -> None:
    """Have a file belong to whom it belonged to in the view, where we may say so."""
    if os.geteuid() == 0 and entry.owner != (-1, -1):
        os.chown(name, *entry.owner, dir_fd=folder, follow_symlinks=False)
