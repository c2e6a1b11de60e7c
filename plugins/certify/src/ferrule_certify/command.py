"""`ferrule sandbox certify`: examines a sandbox and writes its certificate.

Exit codes: 0 where nothing escaped and everything that must work does, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

from ferrule_hookspecs.errors import FerruleError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_certify.certificate import Subject
    from ferrule_certify.examination import Result
    from ferrule_certify.probe import Probe
    from ferrule_certify.target import Target
    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.sandbox import Feature

_LONGEST_PATH: Final = 64
_FOREIGN: Final = "filesystem,protected_paths,missing_names,network,unix_sockets,pids,ipc,seccomp"


class CertifyCommand:
    """The command line around the kit."""

    help = "Probe a sandbox and write its certificate."
    options: Sequence[str] = (
        *("--command", "--declare", "--version", "--json", "--probe", "--leave-out", "--mode"),
        *("--list", "--key", "--unsigned", "--stage", "--present-name", "--missing-name"),
        *("-c", "--config", "-C", "--cd", "-p", "--profile", "-h", "--help"),
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Examine a sandbox; returns the exit code."""
        arguments = _parser().parse_args(list(argv))
        from ferrule_certify.catalog import picked

        probes = picked(arguments.probe, arguments.leave_out)
        if arguments.list:
            _show_list(probes, as_json=arguments.json)
            return 0
        if sys.platform == "win32":
            raise FerruleError("the kit's probes are written for Linux and macOS, not Windows")
        if bool(arguments.backend) == bool(arguments.command):
            raise FerruleError("name one backend to examine, or a foreign sandbox by --command")
        return _examine(arguments, probes, host)


command = CertifyCommand()


def _parser() -> argparse.ArgumentParser:
    from ferrule_certify.probe import MODES

    parser = argparse.ArgumentParser(
        prog="ferrule sandbox certify",
        description="Run the probes of function and confinement against a sandbox backend.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("backend", nargs="?", metavar="BACKEND", help="the backend's name, as in sandbox_backend")
    add("--command", metavar="WORDS", help="a foreign sandbox, by the words before the command")
    add("--declare", metavar="FEATURES", default=_FOREIGN, help="what a foreign sandbox enforces")
    add("--version", metavar="TEXT", default="", help="version of a foreign sandbox")
    add("--json", action="store_true", help="write the certificate instead of a table")
    add("--probe", metavar="ID", action="append", default=[], help="only these (repeat, patterns)")
    add("--leave-out", metavar="ID", action="append", default=[], help="not these")
    add("--mode", action="append", default=[], choices=MODES, help="only these policies (repeat)")
    add("--list", action="store_true", help="list the probes and run none")
    add("--key", metavar="FILE", help="key to sign with; $FERRULE_HOME/certify.key without it")
    add("--unsigned", action="store_true", help="do not sign")
    add("--stage", metavar="DIR", help="where the probes' folders are made")
    add("--present-name", metavar="NAME", default=".ferrule", help="a protected name that exists")
    add("--missing-name", metavar="NAME", default=".codex", help="a protected name that does not")
    add("-c", "--config", metavar="KEY=VALUE", action="append", default=[], help="configuration")
    add("-p", "--profile", metavar="NAME", help="profile of the configuration")
    add("-C", "--cd", metavar="DIR", help="working directory for the configuration")
    return parser


def _show_list(probes: Sequence[Probe], *, as_json: bool) -> None:
    if not as_json:
        from ferrule_certify.table import probe_list

        sys.stdout.write(probe_list(probes))
        return
    keys = ("id", "claim", "kind", "modes", "feature", "is_extra")
    rows = [{key: getattr(probe, key) for key in keys} for probe in probes]
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


def _examine(arguments: argparse.Namespace, probes: Sequence[Probe], host: Host) -> int:
    from ferrule_certify.certificate import passed
    from ferrule_certify.examination import Examiner
    from ferrule_certify.probe import MODES
    from ferrule_certify.stage import Names, Stages
    from ferrule_certify.target import close
    from ferrule_certify.traps import Traps

    with _folder(arguments.stage) as base:
        stages = Stages(base, Names(arguments.present_name, arguments.missing_name))
        target, subject = _target(arguments, host, str(stages.program))
        try:
            with Traps(base) as traps:
                examiner = Examiner(target, stages, traps)
                results = examiner.examine(probes, arguments.mode or MODES, _progress())
        finally:
            if target.backend is not None:
                close(target.backend)
    _show(arguments, subject, results, host)
    return 0 if passed(results) else 1


def _target(arguments: argparse.Namespace, host: Host, program: str) -> tuple[Target, Subject]:
    """Find what is to be examined, and what it says of itself."""
    from ferrule_certify.certificate import Subject
    from ferrule_certify.target import Backend, Prefixed
    from ferrule_hookspecs.host import ConfigRequest

    if arguments.command:
        words = shlex.split(arguments.command)
        declared = _features(arguments.declare)
        if not words or (name := shutil.which(words[0])) is None:
            raise FerruleError(f"--command {arguments.command!r} names no program that is there")
        subject = Subject(os.path.basename(words[0]), "", arguments.version, declared)
        return Prefixed([name, *words[1:]], declared, program), subject
    cwd = os.path.abspath(arguments.cd or os.getcwd())
    request = ConfigRequest(cwd, profile=arguments.profile, overrides=arguments.config)
    backend, distribution, version = host.sandbox(host.config(request), arguments.backend, cwd)
    found = backend.probe()
    if not found.available:
        raise SandboxUnavailableError(f"the sandbox {backend.name} is not usable: {found.reason}")
    subject = Subject(backend.name, distribution, version, found.enforced)
    return Backend(backend, found), subject


def _features(text: str) -> frozenset[Feature]:
    from ferrule_hookspecs.sandbox import Feature

    known = get_args(Feature)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise FerruleError(f"--declare: {name!r} is no feature; there are {', '.join(known)}")
    return frozenset(cast("list[Feature]", names))


@contextmanager
def _folder(wanted: str | None) -> Iterator[Path]:
    """Make the folder of an examination: below the home, as temporary folders may be writable."""
    above = Path(wanted) if wanted else Path.home() / ".cache" / "ferrule-certify"
    above.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="c", dir=above)).resolve()
    try:
        if len(str(path)) > _LONGEST_PATH:
            raise FerruleError(f"{above} is too long a path for sockets; name a shorter by --stage")
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class _Progress:
    """Tells a person which probe runs; says nothing to a file."""

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self._is_seen:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _progress() -> _Progress:
    return _Progress()


def _show(
    arguments: argparse.Namespace, subject: Subject, results: Sequence[Result], host: Host
) -> None:
    from importlib.metadata import version

    from ferrule_certify.certificate import certificate
    from ferrule_certify.signing import SigningUnavailableError, sign
    from ferrule_certify.table import result_table

    _progress()("")
    if not arguments.json:
        sys.stdout.write(result_table(subject, results))
        return
    content = certificate(subject, results, version("ferrule-certify"))
    if not arguments.unsigned:
        file = Path(arguments.key) if arguments.key else Path(host.home) / "certify.key"
        try:
            content = sign(content, file)
        except SigningUnavailableError as error:
            if arguments.key:
                raise
            sys.stderr.write(f"warning: the certificate is not signed: {error}\n")
    sys.stdout.write(json.dumps(content, indent=1, sort_keys=True) + "\n")
