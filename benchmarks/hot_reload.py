"""What it costs that plugins may change while sessions use them, and whether anything is lost.

    python benchmarks/hot_reload.py [--generations 250] [--plugins 4] [--sessions 3] [--json]

A few plugins with one tool each are edited over and over; every edit of all of them is one
generation, and each plugin in it one hot reload. Meanwhile sessions take turns in which a model
calls every tool. Every call must be answered by one whole edition of its plugin, of the moment its
turn began or later; when all is over, no module of a former edition may be left, and the process
must not have grown. Ends with 1 where one of that does not hold.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ferrule.kernel import LocalKernel
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.ops import Op

TARGET_LOOK_MS = 1.0
TARGET_GROWTH_MB = 16.0
TURNS = 10
CONFIG = """\
model = "bench"
model_provider = "bench"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.bench]
name = "Bench"
wire_api = "bench"
"""
PROJECT = """\
[project]
name = "{name}"
version = "1.0"
[project.entry-points."ferrule.{group}"]
{point} = "{target}"
"""
PROVIDER = """\
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, TextDelta
USAGE = dict.fromkeys(
    ["totalTokens", "inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens",
     "reasoningOutputTokens"], 1)
TOOLS, asked = [], [0]
class Provider:
    name = "bench"
    stream_max_retries = 0
    def __init__(self, context):
        pass
    async def stream(self, request):
        last = request.input[-1]
        if last["type"] == "message":
            for number, tool in enumerate(TOOLS):
                asked[0] += 1
                yield ItemDone({"type": "function_call", "call_id": f"c{number}-{asked[0]}",
                                "name": tool, "arguments": "{}"})
        else:
            said = {"type": "message", "id": "m", "role": "assistant",
                    "content": [{"type": "output_text", "text": "ok"}]}
            yield ItemAdded({**said, "content": []})
            yield TextDelta("ok")
            yield ItemDone(said)
        yield Completed("r", USAGE)
    async def aclose(self):
        pass
"""
TOOL = """\
import anyio
from ferrule_hookspecs import Tool, ToolResult
from {package} import words
EDITION = {edition}
class Load(Tool):
    name = "{package}"
    read_only = True
    async def run(self, call, context):
        await anyio.sleep(0.002)
        from {package}.words import EDITION as late
        return ToolResult(f"{{EDITION}} {{words.EDITION}} {{late}}")
"""


@dataclass
class Load:
    """The plugins, what is done with them, and what was found."""

    folder: Path
    plugins: int
    edition: int = 0
    reload_ms: list[float] = field(default_factory=list)
    former: list[weakref.ref[ModuleType]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    turns: int = 0
    answered: int = 0
    is_over: bool = False
    turn_ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def packages(self) -> list[str]:
        return [f"bench_load_{number}" for number in range(self.plugins)]

    def lay_out(self) -> list[str]:
        """Write the checkouts; returns where they are."""
        self._write("bench_model/src/bench_model/__init__.py", PROVIDER)
        given = {"name": "bench-model", "group": "providers", "point": "bench"}
        self._write(
            "bench_model/pyproject.toml", PROJECT.format(target="bench_model:Provider", **given)
        )
        for package in self.packages:
            given = {"name": package.replace("_", "-"), "group": "tools", "point": package}
            target = f"{package}.tool:Load"
            self._write(f"{package}/pyproject.toml", PROJECT.format(target=target, **given))
            self._write(f"{package}/src/{package}/__init__.py", "")
        self.edit()
        return [str(self.folder / name) for name in ("bench_model", *self.packages)]

    def edit(self) -> None:
        """Write the next edition of every plugin."""
        self.edition += 1
        for package in self.packages:
            source = f"{package}/src/{package}"
            self._write(f"{source}/words.py", f"EDITION = {self.edition}\n")
            self._write(f"{source}/tool.py", TOOL.format(package=package, edition=self.edition))

    def check(self, answers: list[str], before: int) -> None:
        """Take note of a turn: an answer is of one whole edition, as new as the turn or newer."""
        for answer in answers:
            found = answer.split(" ")
            is_whole = len(found) == 3 and found[0].isdigit() and len(set(found)) == 1
            if not is_whole or not before <= int(found[0]) <= self.edition:
                self.wrong.append(f"{answer} in a turn that began with {before}")
        self.answered += len(answers)
        self.turns += 1
        self.turn_ended.set()
        self.turn_ended = anyio.Event()

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def work(kernel: LocalKernel, load: Load, cwd: str) -> None:
    """Take turns in one session after the other until all is over."""
    while not load.is_over:
        config = kernel.config(ConfigRequest(cwd=cwd))
        session = await kernel.threads.start(ThreadOptions(config, cwd, ephemeral=True))
        events = session.events()
        for _ in range(TURNS):
            before, answers = load.edition, list[str]()
            await session.submit(cast("Op", turn_of(session)))
            async for event in events:
                if event["method"] == "turn/completed":
                    break
                if event["method"] == "item/completed":
                    answers += answer_of(cast("dict[str, Any]", event["params"]["item"]))
            load.check(answers, before)
        await session.close()


def turn_of(session: Session) -> dict[str, object]:
    content = [{"type": "text", "text": "go"}]
    params = {"threadId": session.thread["id"], "input": content}
    return {"id": "1", "method": "turn/start", "params": params}


def answer_of(item: dict[str, Any]) -> list[str]:
    """What a tool answered; nothing for items of other kinds."""
    if item["type"] != "dynamicToolCall":
        return []
    return ["".join(part.get("text", "") for part in item["contentItems"] or ())]


async def edit(kernel: LocalKernel, load: Load, generations: int) -> list[float]:
    """Have one generation follow the other; returns how large the process was at times."""
    sizes: list[float] = []
    for number in range(generations):
        load.former += [weakref.ref(sys.modules[f"{name}.tool"]) for name in load.packages]
        turns = load.turns
        load.edit()
        began = time.perf_counter()
        await kernel.generations.refresh()
        load.reload_ms.append((time.perf_counter() - began) * 1000)
        if load.turns == turns:  # some session goes on before all is edited again
            await load.turn_ended.wait()
        if number in (generations // 5, generations - 1):
            gc.collect()
            sizes.append(resident_mb())
    return sizes


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(kernel: LocalKernel, load: Load, arguments: argparse.Namespace) -> dict:
    """Run everything; returns the figures."""
    cwd = str(load.folder)
    config = kernel.config(ConfigRequest(cwd=cwd))
    first = await kernel.threads.start(ThreadOptions(config, cwd, ephemeral=True))
    await first.close()
    del first  # what it used must be free to go
    sys.modules["bench_model"].TOOLS.extend(load.packages)
    async with anyio.create_task_group() as group:
        for _ in range(arguments.sessions):
            group.start_soon(work, kernel, load, cwd)
        sizes = await edit(kernel, load, arguments.generations)
        load.is_over = True
    began, looks = time.perf_counter(), 500
    for _ in range(looks):
        await kernel.generations.refresh()
    look_ms = (time.perf_counter() - began) * 1000 / looks
    with anyio.move_on_after(300):  # the tasks of the last sessions are about to end
        while any(ref() is not None for ref in load.former):
            await anyio.sleep(0.01)
            gc.collect()
    spent = sorted(load.reload_ms)
    return {
        "reloads": arguments.generations * load.plugins,
        "generations": arguments.generations,
        "calls": sys.modules["bench_model"].asked[0],
        "answered": load.answered,
        "wrong": load.wrong[:5],
        "leaked": sum(ref() is not None for ref in load.former),
        "reload_ms_p50": round(statistics.median(spent), 1),
        "reload_ms_p95": round(spent[int(len(spent) * 0.95) - 1], 1),
        "look_ms": round(look_ms, 3),
        "memory_mb": [round(size, 1) for size in sizes],
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--generations", type=int, default=250)
    parser.add_argument("--plugins", type=int, default=4)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = Load(Path(folder), arguments.plugins)
        home = load.folder / "home"
        home.mkdir()
        (home / "config.toml").write_text(CONFIG)
        environ = {**os.environ, "FERRULE_HOME": str(home)}
        environ["FERRULE_DEV_PLUGIN"] = os.pathsep.join(load.lay_out())
        host = LocalHost(home, environ)
        figures = host.run(lambda kernel: measure(kernel, load, arguments))
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:16} {value}")
    before, after = figures["memory_mb"]
    is_good = figures["answered"] == figures["calls"] and not figures["wrong"]
    is_good = is_good and not figures["leaked"] and after - before <= TARGET_GROWTH_MB
    return 0 if is_good and figures["look_ms"] <= TARGET_LOOK_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
