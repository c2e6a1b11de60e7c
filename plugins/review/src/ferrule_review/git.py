"""Runs git to its end, without a terminal, a network, or programs that a repository names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_processes.program import Program, StartError, run_program
from ferrule_review.errors import CannotReviewError, GitFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SECONDS: Final = 20.0
_MOST_OUTPUT: Final = 8 * 1024 * 1024
_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "gc.auto=0",
)


class Answer(NamedTuple):
    """What git said; `is_cut` tells that there was more."""

    exit_code: int
    data: bytes
    is_cut: bool

    @property
    def line(self) -> str:
        """The answer without the newline at its end."""
        return self.data.decode(errors="surrogateescape").removesuffix("\n")


def deaf(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what would lead git to another repository or to a network."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
    }


class Git:
    """git in one folder, under one environment."""

    def __init__(
        self, folder: str, environ: Mapping[str, str], settings: Sequence[str] = ()
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._settings = [word for each in (*_SETTINGS, *settings) for word in ("-c", each)]

    async def ask(self, *words: str, given: bytes = b"", limit: int = _MOST_OUTPUT) -> Answer:
        """Run git; what it writes beyond the limit is not waited for.

        Raises:
            CannotReviewError: git is not installed.
            GitFailedError: It took too long.
        """
        from anyio import fail_after

        argv = ["git", *self._settings, *words]
        program = Program(argv, self._folder, self._environ, limit, 4096, ends_at_limit=True)
        try:
            with fail_after(_SECONDS):
                ended = await run_program(program, given)
        except StartError as error:
            raise CannotReviewError(
                f"git {error}; install git, or review with instructions of your own"
            ) from None
        except TimeoutError:
            raise GitFailedError(f"`git {words[0]}` took longer than {_SECONDS:.0f} s") from None
        return Answer(ended.exit_code, ended.stdout, ended.is_cut)

    async def tell(self, *words: str, given: bytes = b"", limit: int = _MOST_OUTPUT) -> Answer:
        """Run git where it must succeed.

        Raises:
            GitFailedError: It did not.
        """
        answer = await self.ask(*words, given=given, limit=limit)
        if answer.exit_code != 0 and not answer.is_cut:
            raise GitFailedError(f"`git {words[0]}` failed with exit code {answer.exit_code}")
        return answer
