"""The sign-in in the keyring of the operating system, by the library `keyring`.

The library is imported only where the keyring was chosen; the lean set comes without it. Its calls
wait for other programs, so the event loop must not make them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_wire.account import SignInError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

_SERVICE: Final = "ferrule"
_MISSING: Final = (
    "the keyring needs the library keyring: install ferrule-login, "
    'or set `cli_auth_credentials_store = "file"` and sign in again'
)


class KeyringEntry:
    """The one entry of a home."""

    def __init__(self, home: Path) -> None:
        """Ask nothing yet."""
        self._name = f"sign-in of {home.resolve()}"

    def read(self) -> str:
        """Return what is kept; empty where nothing is.

        Raises:
            SignInError: The keyring cannot be asked.
        """
        library = _library()
        try:
            return library.get_password(_SERVICE, self._name) or ""
        except Exception as error:  # noqa: BLE001 -- backends raise what they like
            raise _unusable(error) from None

    def write(self, text: str) -> None:
        """Keep a text.

        Raises:
            SignInError: The keyring does not take it.
        """
        library = _library()
        try:
            library.set_password(_SERVICE, self._name, text)
        except Exception as error:  # noqa: BLE001 -- backends raise what they like
            raise _unusable(error) from None

    def delete(self) -> None:
        """Remove what is kept, if anything is.

        Raises:
            SignInError: The keyring cannot be asked.
        """
        library = _library()
        try:
            if library.get_password(_SERVICE, self._name) is not None:
                library.delete_password(_SERVICE, self._name)
        except Exception as error:  # noqa: BLE001 -- backends raise what they like
            raise _unusable(error) from None


def _library() -> ModuleType:
    try:
        import keyring
    except ImportError:
        raise SignInError(_MISSING) from None
    return keyring


def _unusable(error: Exception) -> SignInError:
    """Say what is wrong; the error of a backend may quote what it was given, so only its kind."""
    kind = type(error).__name__
    what = "there is no keyring here" if kind == "NoKeyringError" else f"it answered {kind}"
    return SignInError(
        f"the keyring cannot be used: {what}; unlock it, or set "
        '`cli_auth_credentials_store = "file"` and sign in again'
    )
