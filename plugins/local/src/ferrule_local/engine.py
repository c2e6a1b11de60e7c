"""The process that runs the model: `python -I -m ferrule_local.engine`, started by the provider.

A process of its own, because a fault in the native code would otherwise end the whole session, its
threads could not be stopped, and its memory not be given back. It reads requests from standard
input and writes answers to standard output, one JSON object a line, and ends when its input does.

    {"id": 1, "body": {…}}   a request in the form of Chat Completions
    {"cancel": 1}            stop it
    {"ready": true}          the model is loaded
    {"id": 1, "delta": "…"}  more text
    {"id": 1, "end": {…}}    it is over: finish_reason and usage, or error
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import json
import os
import queue
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from typing import IO, Any, Final

from ferrule_local.prompt_cache import PromptCache, state_name

_PR_SET_PDEATHSIG: Final = 1


class Channel:
    """The two pipes, apart from standard output, which native code writes to as well."""

    def __init__(self) -> None:
        """Take the pipes over; whatever is printed from now on goes to standard error."""
        self.requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        self._input: IO[bytes] = os.fdopen(os.dup(0), "rb")
        self._output: IO[bytes] = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Write one line; nobody left to read it means that nobody needs this process."""
        try:
            self._output.write(json.dumps(message).encode() + b"\n")
        except OSError:
            os._exit(0)

    def is_cancelled(self, number: int) -> bool:
        """Whether nobody wants the answer any more."""
        return number in self._cancelled

    def _read(self) -> None:
        for line in self._input:
            message = json.loads(line)
            if "cancel" in message:
                self._cancelled.add(message["cancel"])
            else:
                self.requests.put(message)
        os._exit(0)  # at once: the main thread may be in native code for a long time


def main() -> None:
    """Load the model that the first line names, then answer requests."""
    _die_with_parent()
    channel = Channel()
    try:
        server = _load(channel.requests.get())
    except Exception as error:  # noqa: BLE001 -- whatever the native library raises is the answer
        channel.send({"failed": f"{type(error).__name__}: {error}"})
        return
    channel.send({"ready": True})
    while True:
        request = channel.requests.get()
        number = request["id"]
        try:
            end = _answer(server, request["body"], number, channel)
        except Exception as error:  # noqa: BLE001 -- as above
            end = {"error": f"{type(error).__name__}: {error}"}
        channel.send({"id": number, "end": end})


def _load(settings: dict[str, Any]) -> Any:  # noqa: ANN401 -- the library is not typed
    """Load the model, and the state its prompt left in an earlier run."""
    library: Any = importlib.import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["context"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = settings["batch"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.warmup = False
    params.verbosity = 0
    params.ui = False
    # The library insists on listening. It gets a socket in a folder of ours that is removed at
    # once, and a key nobody knows; where there are no such sockets, only the key protects it.
    key = secrets.token_hex(32)
    params.api_keys = [key]
    if os.name != "posix":
        return library.Server(params)
    folder = tempfile.mkdtemp(prefix="ferrule-local-")
    try:
        address = os.path.join(folder, "engine.sock")
        params.hostnames = [address]
        if settings["cache"]:
            os.makedirs(settings["cache"], mode=0o700, exist_ok=True)
            params.slot_save_path = settings["cache"] + os.sep
        server = library.Server(params)
        if settings["cache"]:
            _read_prompt(server, PromptCache(settings["cache"], address, key), settings)
        return server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_prompt(server: Any, cache: PromptCache, settings: dict[str, Any]) -> None:  # noqa: ANN401
    """Have the model know its prompt: from an earlier run, else by reading it."""
    stat = os.stat(settings["path"])
    build = importlib.metadata.version("xllamacpp")
    name = state_name(settings, stat.st_size, stat.st_mtime_ns, build)
    if not cache.restore(name):
        messages = [{"role": "system", "content": settings["prompt"]}]
        messages.append({"role": "user", "content": "Task:"})
        server.handle_chat_completions({"messages": messages, "max_tokens": 1})
        cache.save(name)


def _answer(server: Any, body: dict[str, Any], number: int, channel: Channel) -> dict[str, Any]:  # noqa: ANN401
    """Stream one answer; returns what is known at its end."""
    end: dict[str, Any] = {}

    def take(chunk: dict[str, Any]) -> bool:
        """Hand a chunk on; a true answer stops the model."""
        if error := chunk.get("error"):
            end["error"] = str(error.get("message") or error)
            end["type"] = str(error.get("type") or "")
        for choice in chunk.get("choices") or ():
            if text := choice["delta"].get("content"):
                channel.send({"id": number, "delta": text})
            if choice.get("finish_reason"):
                end["finish_reason"] = choice["finish_reason"]
        if usage := chunk.get("usage"):
            end["usage"] = usage
        return channel.is_cancelled(number)

    body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    if not channel.is_cancelled(number):
        take(server.handle_chat_completions(body, take) or {})
    return end


def _die_with_parent() -> None:
    """Have the system end this process with its parent, even in the middle of native code.

    What an interrupt from the terminal means is for the parent to decide, so that this process
    leaves its group.
    """
    if os.name == "posix":
        os.setpgid(0, 0)
    if sys.platform == "linux":
        parent = int(sys.argv[1])
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
