"""What all suites have in common: a context, a folder, and an eye on what is left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Final, TypeVar

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_testkit.import_report import ImportReport, report_import
from ferrule_testkit.leaks import LeakWatch

T = TypeVar("T")

PATIENCE_S: Final = 120.0
"""How long anything may take that should take no time: machines stand still now and then."""
_LATE_S: Final = 10.0
_POLL_S: Final = 0.01


class Conformance:
    """A suite; a subclass named `Test…` says with `make` what it is about.

    Attributes:
        config: The whole configuration that the plugin sees.
        settings: The table that configures the plugin, the context's `settings`.
    """

    config: ClassVar[Mapping[str, object]] = {}
    settings: ClassVar[Mapping[str, object]] = {}

    @pytest.fixture(autouse=True)
    def _nothing_is_left(self) -> Iterator[None]:
        """Fail where a test leaves threads, processes or descriptors behind."""
        watch = LeakWatch()
        yield
        left = watch.left()
        if left:
            pytest.fail(f"it leaves behind: {'; '.join(left)}")

    def test_importing_it_does_nothing_but_define_it(self, request: pytest.FixtureRequest) -> None:
        if not request.config.getini("ferrule_thorough"):
            pytest.skip("ferrule_thorough is off")
        for module in self.modules(request.getfixturevalue("made_with")):
            _check_import(module, request.config.getoption("--ferrule-import-budget"))

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The modules that are imported when the plugin is used."""
        return ()

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Path:
        """The folder of the session."""
        folder = tmp_path / "workspace"
        folder.mkdir()
        return folder.resolve()

    @pytest.fixture
    def context(self, bare_context: PluginContext) -> PluginContext:
        """What the plugin is made with; to be overridden where a fixture knows more."""
        return bare_context

    @pytest.fixture
    def made_with(self, context: PluginContext) -> PluginContext:
        """The context as `make` gets it."""
        return context

    @pytest.fixture
    def bare_context(self, tmp_path: Path, workspace: Path) -> PluginContext:
        """A context with the class's `config` and `settings`."""
        home = tmp_path / "ferrule-home"
        home.mkdir()
        return PluginContext(
            home=home,
            config=self.config,
            cwd=str(workspace),
            thread_id="thread-1",
            environ=dict(os.environ),
            settings=self.settings,
            project_root=str(workspace),
            is_trusted=True,
        )


def must(holds: object, wish: str, where: str) -> None:
    """Fail with what the contract wants, and where that is written."""
    if not holds:
        pytest.fail(f"{wish} (see {where} in ferrule_hookspecs)")


def drive(work: Callable[[], Awaitable[T]], limit_s: float = PATIENCE_S) -> T:
    """Run something asynchronous to its end; fails where it leaves tasks behind or never ends."""

    async def main() -> T:
        with anyio.fail_after(limit_s):
            result = await work()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for _ in range(round(_LATE_S / _POLL_S)):  # not by the clock: what stands still cannot end
            if not left:
                break
            _, left = await asyncio.wait(left, timeout=_POLL_S)
        if left:
            names = ", ".join(sorted(str(task.get_coro()) for task in left))
            pytest.fail(f"it leaves tasks running that nobody ends: {names}")
        return result

    return anyio.run(main)


@cache
def imported(module: str) -> ImportReport:
    """What importing a module does, found out once for all tests."""
    return report_import(module)


def _check_import(module: str, budget_ms: float | None) -> None:
    report = imported(module)
    where = "plugins"
    must(not report.fault, f"{module} can be imported: {report.fault}", where)
    must(not report.started, f"importing {module} does this: {report.started}", where)
    must(not report.threads, f"importing {module} leaves threads: {report.threads}", where)
    must(not report.printed, f"importing {module} writes {report.printed!r}", where)
    if budget_ms is not None and report.milliseconds > budget_ms:
        report = min((report_import(module) for _ in range(3)), key=lambda each: each.milliseconds)
        took = f"importing {module} takes {report.milliseconds:.0f} ms, most of it"
        wish = f"{took} {', '.join(report.culprits)}; the budget is {budget_ms:g} ms"
        must(report.milliseconds <= budget_ms, wish, where)


def snapshot(folder: Path) -> dict[str, bytes]:
    """The files below a folder with their content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
