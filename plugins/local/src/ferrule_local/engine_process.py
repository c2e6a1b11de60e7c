"""The provider's side of the engine: starts the process, talks to it, ends it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from ferrule_hookspecs.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from anyio.abc import Process

_LIBRARY: Final = "xllamacpp"
_GRACE_SECONDS: Final = 1.0
_READ_SIZE: Final = 65_536
_TAIL: Final = 2_000
_KEPT_VARIABLES: Final = (
    "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
)  # fmt: skip
_KEPT_PREFIXES: Final = ("GGML_", "LLAMA_", "OMP_")


class EngineSettings(NamedTuple):
    """How the model is run.

    Attributes:
        path: The GGUF file.
        threads: Threads of the native code.
        context: Tokens of prompt and answer together.
        batch: Tokens of the prompt that are read at a time.
        prompt: What every dialogue begins with.
        cache: Folder for what the model worked out from it.
    """

    path: Path
    threads: int
    context: int
    batch: int
    prompt: str
    cache: Path


class Engine:
    """One engine process and the one request it works on."""

    def __init__(self, process: Process, log: IO[bytes]) -> None:
        """Take over a process that was started; see `start_engine`."""
        self._process = process
        self._log = log
        self._buffer = bytearray()
        self._number = 0

    @property
    def is_alive(self) -> bool:
        """Whether it can take a request."""
        return self._process.returncode is None

    async def ask(self, body: Mapping[str, object]) -> AsyncGenerator[dict[str, Any]]:
        """Send a request and yield its messages; the last one has `end`.

        A reader that stops early stops the model, too.
        """
        self._number += 1
        number, is_over = self._number, False
        try:
            await self.send({"id": number, "body": body})
            while not is_over:
                message = await self.receive()
                is_over = "end" in message
                yield message
        finally:
            if not is_over:
                await self._cancel(number)

    async def send(self, message: Mapping[str, object]) -> None:
        """Write one line."""
        if self._process.stdin is None:
            raise self._ended()
        try:
            await self._process.stdin.send(json.dumps(message).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise self._ended() from None

    async def receive(self) -> dict[str, Any]:
        """Read one line."""
        while (end := self._buffer.find(b"\n")) < 0:
            if self._process.stdout is None:
                raise self._ended()
            try:
                self._buffer += await self._process.stdout.receive(_READ_SIZE)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise self._ended() from None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return json.loads(line)

    async def aclose(self) -> None:
        """End the process at once; the system takes its memory back."""
        with anyio.CancelScope(shield=True):
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()
        self._log.close()

    async def _cancel(self, number: int) -> None:
        """Stop the model between two tokens; while it reads a prompt it cannot be, and is ended."""
        with anyio.CancelScope(shield=True):
            try:
                with anyio.fail_after(_GRACE_SECONDS):
                    await self.send({"cancel": number})
                    while "end" not in await self.receive():
                        pass
            except (TimeoutError, ProviderError):
                await self.aclose()

    def _ended(self) -> ProviderError:
        self._log.seek(0)
        said = self._log.read()[-_TAIL:].decode(errors="replace").strip()
        return ProviderError(
            "the process of the embedded model ended unexpectedly; the next request starts it anew",
            details=said or None,
        )


async def start_engine(settings: EngineSettings, environ: Mapping[str, str]) -> Engine:
    """Start the process and await that the model is loaded.

    Raises:
        ProviderError: The library is missing, or the file cannot be loaded.
    """
    if importlib.util.find_spec(_LIBRARY) is None:
        raise ProviderError(
            "the embedded model needs the package xllamacpp, which is not installed here: "
            "pip install 'ferrule[local]'"
        )
    log = tempfile.TemporaryFile()  # noqa: SIM115 -- the engine closes it
    process = await anyio.open_process(
        # -I: neither the working directory nor PYTHONPATH has a say in what is imported.
        [sys.executable, "-I", "-m", "ferrule_local.engine", str(os.getpid())],
        stdin=-1,
        stdout=-1,
        stderr=log,
        cwd=os.sep,
        env=_environment(environ),
    )
    engine = Engine(process, log)
    try:
        await engine.send(
            {
                "path": str(settings.path),
                "threads": settings.threads,
                "context": settings.context,
                "batch": settings.batch,
                "prompt": settings.prompt,
                "cache": str(settings.cache),
            }
        )
        answer = await engine.receive()
    except BaseException:
        await engine.aclose()
        raise
    if "ready" not in answer:
        await engine.aclose()
        raise ProviderError(_load_failure(settings.path, str(answer["failed"])))
    return engine


def _load_failure(path: Path, cause: str) -> str:
    text = f"the embedded model {str(path)!r} cannot be loaded: {cause}"
    if "libgomp" in cause:  # all else that the library needs, it brings along
        text += "; install the OpenMP run time: `apt install libgomp1`, `dnf install libgomp`"
    return text


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave secrets out of a process that needs none."""
    return {
        name: value
        for name, value in environ.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
