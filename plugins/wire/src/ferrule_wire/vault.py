"""Where the sign-in of a home is kept: `auth.json`, the system's keyring, or this process.

`auth.json` is always asked first: where the keyring holds the secrets, the file says so and holds
none. So a provider needs no configuration to find them, and wakes no keyring in vain.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ferrule_wire.account import Account, SignInError, dump_account, load_account
from ferrule_wire.json_text import json_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from ferrule_wire.keyring_entry import KeyringEntry

Store = Literal["file", "keyring", "ephemeral"]

_LARGEST: Final = 1 << 20
_LOCK_S: Final = 60.0
_FOREIGN: Final = 0o077
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_in_memory: Final[dict[Path, Account]] = {}


class Vault:
    """The sign-in of one home. Reading it again costs little: unchanged files are not parsed."""

    def __init__(self, home: Path) -> None:
        """Read nothing yet."""
        self.home = home
        self.path = home / "auth.json"
        self._seen: tuple[int, ...] = ()
        self._account: Account | None = None
        self._store: Store = "file"

    @property
    def store(self) -> Store:
        """Where what was last read or written is kept."""
        return self._store

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Keep other processes from renewing or replacing the sign-in inside the block."""
        from ferrule_wire.file_lock import held

        return held(self.home / "auth.json.lock", _LOCK_S)

    def is_settled(self) -> bool:
        """Whether reading needs neither a file nor a keyring, for which a thread should wait."""
        if self.home in _in_memory:
            return True
        try:
            return _signature(os.lstat(self.path)) == self._seen
        except OSError:
            return True

    def read(self) -> Account | None:
        """Return the sign-in as it is now; None where nobody is signed in.

        Raises:
            SignInError: It cannot be read, or others could read it.
        """
        if self.home in _in_memory:
            self._store = "ephemeral"
            return _in_memory[self.home]
        self._read_file()
        return self._account

    def write(self, account: Account, store: Store) -> None:
        """Keep a sign-in in the place of any other.

        Raises:
            SignInError: It cannot be kept there; what was kept before is as it was.
        """
        if store == "ephemeral":
            _in_memory[self.home] = account
            self._store = store
            return
        written = dump_account(account)
        if store == "keyring":
            self._entry().write(json.dumps(written))
            written = {"auth_mode": written["auth_mode"], "kept_in": "keyring"}
            self._write_file(written)
        else:
            was_in_keyring = self._is_in_keyring()
            self._write_file(written)
            if was_in_keyring:
                with suppress(SignInError):  # what it holds is no longer asked for
                    self._entry().delete()
        _in_memory.pop(self.home, None)
        self._seen, self._account, self._store = (), account, store

    def delete(self) -> bool:
        """Forget the sign-in; tells whether there was one.

        Raises:
            SignInError: Something of it is left.
        """
        was_there = _in_memory.pop(self.home, None) is not None
        is_in_keyring = self._is_in_keyring()
        if is_in_keyring:
            self._entry().delete()
        try:
            self.path.unlink()
            was_there = True
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SignInError(f"cannot remove {self.path}: {error.strerror}") from None
        self._seen, self._account, self._store = (), None, "file"
        return was_there

    def _entry(self) -> KeyringEntry:
        from ferrule_wire.keyring_entry import KeyringEntry

        return KeyringEntry(self.home)

    def _is_in_keyring(self) -> bool:
        with suppress(SignInError):
            found, _ = self._parsed()
            return found is not None and found.get("kept_in") == "keyring"
        return False

    def _read_file(self) -> None:
        with suppress(OSError):
            if self._seen and _signature(os.lstat(self.path)) == self._seen:
                return
        found, seen = self._parsed()
        self._store = "file"
        if found is not None and found.get("kept_in") == "keyring":
            self._store = "keyring"
            text = self._entry().read()
            found = json_object(text)
            if not found:
                raise SignInError(
                    f"{self.path} says that the keyring holds the sign-in, but it does not; "
                    "sign in again: `ferrule login`"
                )
        self._account = load_account(found) if found is not None else None
        self._seen = seen

    def _parsed(self) -> tuple[Mapping[str, object] | None, tuple[int, ...]]:
        try:
            descriptor = os.open(self.path, _FLAGS | _NO_LINK)
        except (FileNotFoundError, NotADirectoryError):
            return None, ()
        except OSError as error:
            raise self._unreadable(error) from None
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            self._check(facts)
            try:
                data = file.read(_LARGEST + 1)
            except OSError as error:
                raise self._unreadable(error) from None
        found = json_object(data.decode("utf-8", "replace")) if len(data) <= _LARGEST else {}
        if not found:
            raise SignInError(f"{self.path} is damaged; sign in again: `ferrule login`")
        return found, _signature(facts)

    def _unreadable(self, error: OSError) -> SignInError:
        if error.errno == errno.ELOOP:
            return SignInError(
                f"{self.path} is a link, which is not followed; put the file itself there, "
                "or remove the link and sign in again"
            )
        return SignInError(f"cannot read {self.path}: {error.strerror}")

    def _check(self, facts: os.stat_result) -> None:
        """Take a sign-in only from a file that nobody else could have written or read."""
        if not stat.S_ISREG(facts.st_mode):
            raise SignInError(f"{self.path} is no plain file; remove it and sign in again")
        if os.name != "posix":
            return
        if facts.st_uid != os.geteuid():
            raise SignInError(
                f"{self.path} belongs to another user; remove it, or have it be yours"
            )
        if facts.st_mode & _FOREIGN:
            mode = stat.S_IMODE(facts.st_mode)
            raise SignInError(
                f"{self.path} is open to other users (mode {mode:o}); run `chmod 600 "
                f"{self.path}`, and sign in again if others may have read it"
            )

    def _write_file(self, written: Mapping[str, object]) -> None:
        import tempfile  # takes longer to import than everything else here

        text = json.dumps(written, indent=2)
        if self.path.is_symlink():
            raise self._unreadable(OSError(errno.ELOOP, ""))
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.home, prefix=".auth-")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self.path)
            except BaseException:
                with suppress(FileNotFoundError):
                    Path(name).unlink()
                raise
        except OSError as error:
            raise SignInError(f"cannot write {self.path}: {error.strerror}") from None


def _signature(facts: os.stat_result) -> tuple[int, ...]:
    return (facts.st_ino, facts.st_mtime_ns, facts.st_size, facts.st_mode, facts.st_uid)
