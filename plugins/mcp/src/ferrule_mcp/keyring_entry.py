"""One sign-in in the keyring of the operating system. Its calls wait for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

_SERVICE: Final = "ferrule-mcp"


class KeyringError(FerruleError):
    """The keyring cannot be used."""


class KeyringEntry:
    """What the keyring holds under one name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self) -> str:
        """Return what is kept; empty where nothing is.

        Raises:
            KeyringError: The keyring cannot be asked.
        """
        import keyring

        return _asked(lambda: keyring.get_password(_SERVICE, self._name) or "")

    def write(self, text: str) -> None:
        """Keep a text.

        Raises:
            KeyringError: The keyring does not take it.
        """
        import keyring

        _asked(lambda: keyring.set_password(_SERVICE, self._name, text))

    def delete(self) -> None:
        """Remove what is kept, if anything is.

        Raises:
            KeyringError: The keyring cannot be asked.
        """
        import keyring

        if self.read():
            _asked(lambda: keyring.delete_password(_SERVICE, self._name))


def _asked(ask: Callable[[], T]) -> T:
    """Name only the kind of an error: a backend's words may quote what it was given."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 -- backends raise what they like
        kind = type(error).__name__
        what = "there is no keyring here" if kind == "NoKeyringError" else f"it answered {kind}"
        raise KeyringError(
            f"the keyring cannot be used: {what}; unlock it, or set "
            '`mcp_oauth_credentials_store = "file"` and sign in again'
        ) from None
