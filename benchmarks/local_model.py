"""What the embedded model can do: small tasks through `ferrule exec`, judged by their effects.

    FERRULE_TEST_LOCAL_MODEL=PATH python benchmarks/local_model.py [--json] [--more] [TASK ...]

Without the variable the weights that `ferrule local pull` fetched are used. `--more` adds tasks
that the prompt was not tuned on. Every task has a folder of its own, the real tools and the real
sandbox; a reviewer is never asked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_MODEL = "qwen2.5-coder-1.5b-instruct"
_TASK_SECONDS = 900
_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Somebody"), ("EMAIL", "somebody@localhost"))
}


@dataclass(frozen=True)
class Task:
    """What the model is asked, what it finds, and how it is judged."""

    name: str
    prompt: str
    check: Callable[[Path], bool]
    files: dict[str, str] = field(default_factory=dict)


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def _prints(folder: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip()


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "failed"


def _is_average_right(folder: Path) -> bool:
    return _prints(folder, "import stats as s; print(s.average([2, 4]), s.average([1, 2, 3]))") == (
        "3.0 2.0"
    )


def _are_tmp_files_gone(folder: Path) -> bool:
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return left == ["keep.txt", "sub/keep.txt"]


def _is_version_two(folder: Path) -> bool:
    try:
        return json.loads(_text(folder / "package.json")) == {"name": "demo", "version": "2.0.0"}
    except ValueError:
        return False


def _is_tested(folder: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "test_calc"], cwd=folder, capture_output=True, text=True
    )
    return bool(re.search(r"Ran [1-9]\d* test", done.stderr)) and done.returncode == 0


TASKS = (
    Task(
        "create and run",
        "Create a file hello.py that prints Hello, Ferrule! and run it.",
        lambda folder: "Hello, Ferrule!" in _prints(folder, "import hello"),
    ),
    Task(
        "folder and file",
        "Make a folder named notes and put a file todo.txt into it with the text: buy milk",
        lambda folder: _text(folder / "notes/todo.txt").strip() == "buy milk",
    ),
    Task(
        "count lines",
        "Count the lines of data.txt and write only the number into count.txt.",
        lambda folder: _text(folder / "count.txt").strip() == "37",
        {"data.txt": "".join(f"row {number}\n" for number in range(37))},
    ),
    Task(
        "fibonacci",
        "Write fib.py with a function fib(n) that returns the n-th Fibonacci number, where fib(0) "
        "is 0 and fib(1) is 1.",
        lambda folder: (
            _prints(
                folder, "import fib; print([fib.fib(n) for n in (0, 1, 2, 7, 10)])"
            ).splitlines()[-1:]
            == ["[0, 1, 1, 13, 55]"]
        ),
    ),
    Task(
        "rename",
        "Rename old.txt to new.txt.",
        lambda folder: (
            _text(folder / "new.txt") == "keep me\n" and not (folder / "old.txt").exists()
        ),
        {"old.txt": "keep me\n"},
    ),
    Task(
        "sum",
        "Add up the numbers in numbers.txt and write the sum into sum.txt.",
        lambda folder: _text(folder / "sum.txt").strip() == "50",
        {"numbers.txt": "12\n7\n30\n1\n"},
    ),
    Task(
        "add a function",
        "Add a function subtract(a, b) to calc.py. Keep what is there.",
        lambda folder: (
            _prints(folder, "import calc as c; print(c.add(2, 3), c.subtract(9, 4))") == "5 5"
        ),
        {"calc.py": "def add(a, b):\n    return a + b\n"},
    ),
    Task(
        "fix a bug",
        "The function average in stats.py returns a wrong result: average([2, 4]) should be 3. "
        "Find the bug and fix it.",
        _is_average_right,
        {
            "stats.py": "def average(numbers):\n    total = 0\n    for number in numbers:\n"
            "        total += number\n    return total / (len(numbers) - 1)\n"
        },
    ),
    Task(
        "delete *.tmp",
        "Delete all files that end in .tmp, also in folders below.",
        _are_tmp_files_gone,
        {"a.tmp": "x", "keep.txt": "x", "sub/b.tmp": "x", "sub/keep.txt": "x"},
    ),
    Task(
        "git commit",
        "Make this folder a git repository and commit all files with the message: first commit",
        lambda folder: (
            _git(folder, "log", "--format=%s") == "first commit"
            and _git(folder, "status", "--porcelain") == ""
        ),
        {"readme.txt": "hello\n"},
    ),
)
MORE = (
    Task(
        "set a version",
        "Set the version in package.json to 2.0.0.",
        _is_version_two,
        {"package.json": '{\n  "name": "demo",\n  "version": "1.4.2"\n}\n'},
    ),
    Task(
        "replace a word",
        "Replace the word colour by color in every .txt file here.",
        lambda folder: (
            _text(folder / "a.txt") == "my color\n"
            and _text(folder / "b.txt") == "color and color\n"
        ),
        {"a.txt": "my colour\n", "b.txt": "colour and colour\n"},
    ),
    Task(
        "largest number",
        "Find the largest number in values.txt and write it into max.txt.",
        lambda folder: _text(folder / "max.txt").strip() == "99",
        {"values.txt": "3\n99\n41\n7\n"},
    ),
    Task(
        "write a test",
        "Write test_calc.py with a unittest test for the function add in calc.py, and run it.",
        _is_tested,
        {"calc.py": "def add(a, b):\n    return a + b\n"},
    ),
    Task(
        "sort",
        "Sort names.txt alphabetically and save the result in sorted.txt.",
        lambda folder: _text(folder / "sorted.txt").split() == ["adam", "mia", "zoe"],
        {"names.txt": "zoe\nadam\nmia\n"},
    ),
)


def weights() -> Path:
    """Find the weights; ends the program where there are none."""
    named = os.environ.get("FERRULE_TEST_LOCAL_MODEL")
    home = Path(os.environ.get("FERRULE_HOME") or Path.home() / ".ferrule")
    place = Path(named) if named else home / "models" / f"{_MODEL}-q4_k_m.gguf"
    if not place.is_file():
        raise SystemExit(f"there is no file {place}: run `ferrule local pull`")
    return place.resolve()


def run_task(task: Task, model: Path, folder: Path) -> dict[str, object]:
    """Run one task and judge what it left; the home is one for all, as it is for a person."""
    workspace, home, user = folder / task.name, folder / "home", folder / "user"
    for path in (workspace, home, user):
        path.mkdir(exist_ok=True)
    for name, text in task.files.items():
        place = workspace / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    settings = f"model_providers.local.settings={{path={json.dumps(str(model))}}}"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("FERRULE_")}
    environ |= {"FERRULE_HOME": str(home), "HOME": str(user), "NO_COLOR": "1", **_IDENTITY}
    command = [
        *(
            sys.executable,
            "-m",
            "ferrule",
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--ephemeral",
        ),
        *("-s", "workspace-write", "-c", "model_provider=local", "-c", settings, "--", task.prompt),
    ]
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=workspace,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TASK_SECONDS,
    )
    seconds = time.monotonic() - began
    events = [json.loads(line) for line in done.stdout.splitlines()]
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    steps = [item for item in items if item["type"] in ("command_execution", "file_change")]
    return {
        "task": task.name,
        "ok": task.check(workspace),
        "seconds": round(seconds, 1),
        "steps": len(steps),
        "events": events,
        "stderr": done.stderr,
    }


def measure_engine(model: Path) -> dict[str, float]:
    """Load the model alone: how long it takes, and how much memory it then holds."""
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-I", "-m", "ferrule_local.engine", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as engine:
        assert engine.stdin
        assert engine.stdout
        settings = {"path": str(model), "threads": 1, "context": 8192, "batch": 128}
        settings |= {"prompt": "", "cache": ""}
        engine.stdin.write(json.dumps(settings).encode() + b"\n")
        engine.stdin.flush()
        engine.stdout.readline()
        seconds = time.monotonic() - began
        status = Path(f"/proc/{engine.pid}/status")
        memory = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
        engine.stdin.close()
    return {"load_s": round(seconds, 1), "rss_mb": int(memory[1]) // 1000 if memory else 0}


def results(tasks: tuple[Task, ...], model: Path) -> Iterator[dict[str, object]]:
    """Run the tasks one after the other."""
    # Not in /tmp: what lies there may be written by every command.
    with tempfile.TemporaryDirectory(prefix="local-model-", dir=Path.cwd()) as folder:
        for task in tasks:
            yield run_task(task, model, Path(folder))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--more", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    tasks = TASKS + (MORE if arguments.more else ())
    if arguments.names:
        tasks = tuple(task for task in TASKS + MORE if task.name in arguments.names)
    model = weights()
    if not arguments.json:
        print(f"{model.name}: {model.stat().st_size / 1e9:.2f} GB, {measure_engine(model)}")
        print(f"{'task':18} {'ok':4} {'seconds':>8} {'steps':>6}")
    passed, seconds = 0, 0.0
    for result in results(tasks, model):
        passed += bool(result["ok"])
        seconds += float(str(result["seconds"]))
        if arguments.json:
            print(json.dumps(result), flush=True)
        else:
            ok = "yes" if result["ok"] else "NO"
            line = f"{result['task']:18} {ok:4} {result['seconds']:>8} {result['steps']:>6}"
            print(line, flush=True)
    if not arguments.json:
        print(f"{passed} of {len(tasks)}, {seconds / max(1, len(tasks)):.0f} s a task")


if __name__ == "__main__":
    main()
