"""The suite for sandbox backends, and the probes of `ferrule-certify` beside it.

from ferrule_testkit import SandboxConformance

class TestAcmeBox(SandboxConformance):
    def make(self, context):
        return AcmeBox(context)
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, get_args

import anyio
import pytest

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import (
    Capabilities,
    Command,
    CommandResult,
    Feature,
    Launch,
    ResolvedPolicy,
    SandboxBackend,
)
from ferrule_testkit.conformance.local_process import LocalProcess, start
from ferrule_testkit.conformance.scene import MARK, writable
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import Conformance, drive, must
from ferrule_testkit.processes import survivors

_LARGE: Final = 1_000_000
PROBES: Final = ("files.create", "protected.hook", "network.tcp", "work.write")
"""A few of the probes of `ferrule-certify`, one for each kind."""


class Ended(NamedTuple):
    """How a command ended."""

    exit_code: int
    output: bytes
    errors: bytes = b""


class SandboxConformance(Conformance):
    """What every backend has to do; what it does not enforce is left out, with words.

    Attributes:
        probes: Ids of probes of `ferrule-certify` to run, with `*`; empty for none.
    """

    probes: ClassVar[Sequence[str]] = ()

    def make(self, context: PluginContext) -> SandboxBackend:
        """Make the backend under test."""
        raise NotImplementedError("say with `make` which backend is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    @pytest.fixture
    def backend(self, context: PluginContext) -> Iterator[SandboxBackend]:
        """The backend under test."""
        made = self.make(context)
        yield made
        drive(made.aclose)

    @pytest.fixture
    def able(self, backend: SandboxBackend) -> Capabilities:
        """What it can do here; skips where it can do nothing."""
        found = backend.probe()
        if not found.available:
            pytest.skip(f"{backend.name} does not work here: {found.reason}")
        return found

    @pytest.fixture
    def policy(self, able: Capabilities, workspace: Path) -> ResolvedPolicy:
        """A policy that it enforces: the workspace may be written, or nothing is confined."""
        if "filesystem" in able.enforced:
            return writable(workspace)
        return ResolvedPolicy("danger-full-access", str(workspace), network=True, unconfined=True)

    def test_it_says_what_it_can_do_here(self, backend: SandboxBackend) -> None:
        found = backend.probe()
        must(backend.name.strip(), "a backend has a name", "sandbox.SandboxBackend.name")
        must(found.available or found.reason.strip(), "it says why not", "sandbox.Capabilities")
        unknown = found.enforced - set(get_args(Feature))
        must(not unknown, f"{sorted(unknown)} are no features", "sandbox.Feature")
        must(backend.probe() == found, "it says the same again", "sandbox.SandboxBackend.probe")

    def test_making_one_starts_nothing(self, context: PluginContext) -> None:
        self.make(context)
        with noted_starts() as noted:
            made = self.make(context)
        must(not noted, f"making it {', '.join(noted)}", "sandbox.SandboxBackend")
        drive(made.aclose)

    def test_where_it_does_not_work_nothing_runs_without_a_sandbox(
        self, backend: SandboxBackend, workspace: Path
    ) -> None:
        if backend.probe().available:
            pytest.skip("it works here")
        with pytest.raises(SandboxUnavailableError):
            backend.prepare(writable(workspace), _command("true", workspace))

    def test_preparing_a_command_does_not_run_it(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        launch = backend.prepare(policy, _command("touch ran", workspace))
        must(not (workspace / "ran").exists(), "it has run", "sandbox.SandboxBackend.prepare")
        must(os.path.isabs(launch.argv[0]), "a path stands first", "sandbox.Launch.argv")
        _let_go(launch)

    @pytest.mark.parametrize("code", [0, 1, 77])
    def test_output_and_exit_code_are_those_of_the_command(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path, code: int
    ) -> None:
        ended = self._run(backend, policy, f"echo out; echo err >&2; exit {code}", workspace)
        must(ended.exit_code == code, f"{ended.exit_code} is not {code}", "sandbox.Launch")
        must(b"out\n" in ended.output, "its output comes", "sandbox.Launch")
        must(b"err\n" in ended.output, "and what it says to stderr", "sandbox.Launch")

    def test_stderr_may_be_had_apart(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        command = _command("echo out; echo err >&2", workspace)._replace(separate_stderr=True)
        ended = drive(lambda: _complete(backend, policy, command))
        apart = (ended.output, ended.errors) == (b"out\n", b"err\n")
        must(apart, "each stream has its own", "sandbox.Command.separate_stderr")

    def test_input_reaches_the_command_and_ends(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        command = _command("cat", workspace)._replace(open_stdin=True)
        ended = drive(lambda: _complete(backend, policy, command, b"gr\xc3\xbc\xc3\x9fe\n"))
        must(ended.output == b"gr\xc3\xbc\xc3\x9fe\n", "it is read", "sandbox.Command.open_stdin")

    def test_without_input_the_command_reads_its_end(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        ended = self._run(backend, policy, "cat; echo end", workspace)
        must(ended.output == b"end\n", "input is at its end", "sandbox.Command.open_stdin")

    def test_words_folder_and_environment_are_those_of_the_command(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        inner = workspace / "an inner folder"
        inner.mkdir()
        script = 'pwd; printf "%s|" "$@"; printf "%s|" "$ODD" "$FERRULE_TESTKIT_NOT_GIVEN"'
        words = ("two words", "gr\u00fc\u00dfe", "$HOME `id` 'x'", "")
        command = Command(
            ("/bin/sh", "-c", script, "sh", *words), str(inner), {**_environ(), "ODD": "a=b c"}
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FERRULE_TESTKIT_NOT_GIVEN", "leaked")
            ended = drive(lambda: _complete(backend, policy, command))
        told = "|".join([*words, "a=b c", "", ""])
        wish = f"words and environment arrive as they are: {ended.output!r}"
        must(ended.output.decode() == f"{inner}\n{told}", wish, "sandbox.Command")

    def test_much_output_and_long_words_are_not_cut(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        word = "x" * 100_000
        script = f'printf "%s" "$1" | wc -c; head -c {_LARGE} /dev/zero | tr "\\0" y'
        command = Command(("/bin/sh", "-c", script, "sh", word), str(workspace), _environ())
        ended = drive(lambda: _complete(backend, policy, command))
        counted, _, rest = ended.output.partition(b"\n")
        must(int(counted) == len(word), "the word is whole", "sandbox.Command.argv")
        must(rest == b"y" * _LARGE, "the output is whole", "sandbox.Launch")

    def test_files_are_written_and_read_as_they_are(
        self, backend: SandboxBackend, able: Capabilities, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        if not able.local_files:
            pytest.skip("its files are not this machine's")
        content = bytes(range(256)) * 100
        (workspace / "gr\u00fc\u00dfe").write_bytes(content)
        ended = self._run(backend, policy, "cat gr\u00fc\u00dfe > copy; ls missing", workspace)
        must((workspace / "copy").read_bytes() == content, "it is", "sandbox.ResolvedPolicy")
        must(ended.exit_code != 0, "what is missing is missing", "sandbox.ResolvedPolicy")

    def test_a_killed_command_takes_its_children_along(
        self, backend: SandboxBackend, policy: ResolvedPolicy, able: Capabilities, workspace: Path
    ) -> None:
        if not able.local_files:
            pytest.skip("its processes are not this machine's")
        mark = uuid.uuid4().hex
        script = "sleep 1000 & (sleep 1000 &) ; echo started; wait"
        command = _command(script, workspace, {MARK: mark})

        async def kill() -> int:
            process = await _started(backend, policy, command)
            try:
                while b"started" not in await process.read():
                    continue
                process.kill()
                return await process.wait()
            finally:
                await process.aclose()

        code = drive(kill)
        must(code != 0, "a killed command did not end well", "sandbox.Launch")
        drive(lambda: _nobody_has(mark))

    def test_an_ended_command_leaves_nobody_behind_who_holds_its_output(
        self, backend: SandboxBackend, policy: ResolvedPolicy, able: Capabilities, workspace: Path
    ) -> None:
        if "pids" not in able.enforced:
            pytest.skip("it does not enforce `pids`")
        mark = uuid.uuid4().hex
        command = _command("sleep 1000 & echo done", workspace, {MARK: mark})
        ended = drive(lambda: _complete(backend, policy, command))
        must(ended.output == b"done\n", "the output ends with the command", "sandbox.Feature")
        drive(lambda: _nobody_has(mark))

    def test_no_descriptor_of_the_host_is_passed_on(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        ours, theirs = os.pipe()
        os.set_inheritable(theirs, True)
        try:  # by bash: sh may know no number above 9
            ended = self._run(backend, policy, f"exec bash -c 'echo leak >&{theirs}'", workspace)
        finally:
            os.close(theirs)
            with os.fdopen(ours, "rb") as file:
                leaked = file.read()
        must(not leaked and ended.exit_code != 0, "it is", "sandbox.Launch.pass_fds")

    def test_commands_at_the_same_time_stay_apart(
        self, backend: SandboxBackend, policy: ResolvedPolicy, workspace: Path
    ) -> None:
        outputs: dict[int, bytes] = {}

        async def at_once() -> None:
            async def one(number: int) -> None:
                command = _command(f"echo {number}", workspace)
                outputs[number] = (await _complete(backend, policy, command)).output

            async with anyio.create_task_group() as group:
                for number in range(6):
                    group.start_soon(one, number)

        drive(at_once)
        must(outputs == {n: f"{n}\n".encode() for n in range(6)}, "each has its own", "sandbox")

    def test_writing_elsewhere_is_refused(
        self, backend: SandboxBackend, able: Capabilities, tmp_path: Path, workspace: Path
    ) -> None:
        _needs(able, "filesystem")
        outside = _outside(tmp_path)
        os.symlink(outside, workspace / "link")
        script = f"echo x > {outside}/direct; echo x > link/by_link; touch ../upwards; exit 0"
        self._run(backend, writable(workspace), script, workspace)
        came = sorted(path.name for path in outside.iterdir())
        must(not came, f"outside there came {came}", "sandbox.ResolvedPolicy.writable_roots")
        must(not (workspace.parent / "upwards").exists(), "nor above", "sandbox.ResolvedPolicy")

    def test_reading_a_secret_is_refused(
        self, backend: SandboxBackend, able: Capabilities, tmp_path: Path, workspace: Path
    ) -> None:
        _needs(able, "deny_read")
        secret = _outside(tmp_path) / "token"
        secret.write_text("conformance-secret")
        os.symlink(secret, workspace / "link")
        policy = writable(workspace, deny_read=(str(secret),))
        ended = self._run(backend, policy, f"cat {secret} link; exit 0", workspace)
        kept = b"conformance-secret" not in ended.output
        must(kept, "it is not read", "sandbox.ResolvedPolicy.deny_read")

    def test_the_network_is_off(
        self, backend: SandboxBackend, able: Capabilities, workspace: Path
    ) -> None:
        _needs(able, "network")
        import socket

        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected; exit 0"
            command = Command(("/bin/bash", "-c", script), str(workspace), _environ())
            ended = drive(lambda: _complete(backend, writable(workspace), command))
        out = b"connected" not in ended.output
        must(out, "nothing is reached", "sandbox.ResolvedPolicy.network")

    def test_a_command_that_ended_well_was_not_refused_anything(
        self, backend: SandboxBackend, policy: ResolvedPolicy
    ) -> None:
        denial = backend.classify(policy, CommandResult(0, b"fine\n"))
        must(denial is None, "exit code 0 is no denial", "sandbox.SandboxBackend.classify")

    def test_closing_it_may_be_done_twice(self, backend: SandboxBackend) -> None:
        drive(backend.aclose)

    def test_probes_of_certification_hold(self, backend: SandboxBackend) -> None:
        if not self.probes:
            pytest.skip("no `probes` are named")
        pytest.importorskip("ferrule_certify", reason="needs ferrule-certify")
        from ferrule_testkit.certification import probe_cases, run_probe

        ran = 0
        for case in probe_cases(*self.probes):
            try:
                run_probe(backend, case, Path("/var/tmp"))
            except pytest.skip.Exception:  # does not apply here
                continue
            ran += 1
        if not ran:
            pytest.skip("none of the probes applies here")

    def _run(
        self, backend: SandboxBackend, policy: ResolvedPolicy, script: str, folder: Path
    ) -> Ended:
        return drive(lambda: _complete(backend, policy, _command(script, folder)))


def _command(script: str, folder: Path, more: Mapping[str, str] | None = None) -> Command:
    return Command(("/bin/sh", "-c", script), str(folder), {**_environ(), **(more or {})})


def _environ() -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


async def _started(
    backend: SandboxBackend, policy: ResolvedPolicy, command: Command
) -> LocalProcess:
    """Start a command as the kernel does: anew where the machine changed under its sandbox."""
    while True:
        launch = backend.prepare(policy, command)
        process = await start(launch, command)
        if launch.settled is None or await anyio.to_thread.run_sync(launch.settled):
            return process
        await process.aclose()


async def _complete(
    backend: SandboxBackend, policy: ResolvedPolicy, command: Command, given: bytes = b""
) -> Ended:
    process = await _started(backend, policy, command)
    kept: dict[str, bytes] = {"output": b"", "errors": b""}

    async def collect(name: str) -> None:
        read = process.read if name == "output" else process.read_stderr
        while data := await read():
            kept[name] += data

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(collect, "output")
            if command.separate_stderr:
                group.start_soon(collect, "errors")
            if command.open_stdin:
                await process.write(given)
                process.close_input()
        return Ended(await process.wait(), kept["output"], kept["errors"])
    finally:
        await process.aclose()


async def _nobody_has(mark: str) -> None:
    """Wait until no process has a mark; the deadline of the test is what ends it."""
    if not Path("/proc/self/environ").exists():
        return
    try:
        while any(_marked(mark).values()):
            await anyio.sleep(0.01)
    finally:
        for pid in _marked(mark):
            os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> dict[int, str]:
    return survivors(f"{MARK}={mark}")


def _needs(able: Capabilities, feature: Feature) -> None:
    if feature not in able.enforced or not able.local_files:
        pytest.skip(f"it does not enforce `{feature}` on this machine's files")


def _outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder.resolve()


def _let_go(launch: Launch) -> None:
    """Give back what a launch that never began holds."""
    if launch.started is not None:
        launch.started()
    if launch.cleanup is not None:
        launch.cleanup()
