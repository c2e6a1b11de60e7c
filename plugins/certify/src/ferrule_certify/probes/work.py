"""Probes of what people run, which must work in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_certify.probe import Probe

if TYPE_CHECKING:
    from ferrule_certify.probe import Mode

_BOTH: Final[tuple[Mode, ...]] = ("read-only", "workspace-write")
_WRITING: Final[tuple[Mode, ...]] = ("workspace-write",)
_EVERYWHERE: Final[tuple[Mode, ...]] = (*_BOTH, "network")

_WRITES: Final = {
    "work.write": "A file in the workspace can be written and read.",
    "work.second_root": "A file in a second writable folder can be written.",
    "work.tree": "Folders can be made, moved and removed.",
    "work.links": "Links of both kinds can be made in the workspace.",
    "work.pipe_file": "A named pipe can be made in the workspace.",
    "work.locks": "Files can be locked.",
    "work.mapped_file": "A file can be mapped and written.",
    "work.program": "A script can be written, made executable and run.",
    "work.times": "The times of a file in the workspace can be set.",
    "work.file_name_bytes": "Names of files may be bytes that are no text.",
    "work.git_commit": "`git add` and `git commit` work.",
    "work.git_switch": "`git switch` works.",
    "work.git_stash": "`git stash` works.",
    "work.git_new_repository": "A new repository can be made in a folder of the workspace.",
    "work.program_in_memory": "A program that is only in memory can be run.",
}
_READS: Final = {
    "work.read_system": "Programs and libraries of the system can be used.",
    "work.read_workspace": "The workspace can be read.",
    "work.temporary_file": "Temporary files and folders can be made.",
    "work.here_document": "Long here-documents of the shell work.",
    "work.here_string": "Process substitution of the shell works.",
    "work.git_status": "`git status` works.",
    "work.git_log": "`git log` works.",
    "work.socket_pair": "Pairs of connected sockets work.",
    "work.threads": "Threads work.",
    "work.signals": "A command can signal itself and its children.",
    "work.terminal": "A pair of terminals can be opened.",
    "work.devices": "The usual devices work.",
    "work.descriptor_links": "Descriptors can be opened by their names in /dev/fd.",
    "work.many_files": "Two hundred files can be open at once.",
    "work.own_processes": "A command sees its own processes in /proc.",
    "work.interpreter": "An interpreter can start itself once more.",
}
_PROGRAMS: Final = {
    "work.event_loop": "An event loop wakes up for threads and children.",
}
_SHARING: Final = {
    "work.process_pool": "A pool of processes works.",
    "work.shared_queue": "A queue between processes works.",
}
_COMFORT: Final = {
    "work.manager": "A manager of shared objects works (a local socket of one's own).",
    "work.own_server": "A server on the command's own loopback address works.",
    "work.own_local_server": "A server on a local socket of the command's own works.",
}


def _functions(
    claims: dict[str, str], modes: tuple[Mode, ...], *, is_extra: bool = False
) -> tuple[Probe, ...]:
    return tuple(
        Probe(name, claim, "function", modes, module="work", is_extra=is_extra)
        for name, claim in claims.items()
    )


WORK: Final[tuple[Probe, ...]] = (
    *_functions(_WRITES, _WRITING),
    *_functions(_READS, _BOTH),
    *_functions(_PROGRAMS, _EVERYWHERE),
    *_functions(_SHARING, ("workspace-write", "network")),
    *_functions(_COMFORT, _EVERYWHERE, is_extra=True),
    Probe(
        "work.network",
        "With the network on, a server on the machine can be reached.",
        "function",
        ("network",),
        module="work",
    ),
    Probe(
        "work.debugger",
        "With a grant, a command can trace its own children.",
        "function",
        ("workspace-write",),
        module="work",
        is_extra=True,
        changes={"debugging": True},
    ),
    Probe(
        "unix.granted",
        "A socket of a service that was granted can be reached.",
        "function",
        ("workspace-write", "network"),
        module="network",
        is_extra=True,
        changes={"unix_sockets": "service"},
    ),
    Probe(
        "door.way_out",
        "The managed proxy can be reached.",
        "function",
        ("door",),
        *("door", "message", "network"),
    ),
    Probe(
        "readable.granted",
        "Readable and writable folders can be read where little else can.",
        "function",
        ("readable-roots",),
        feature="readable_roots",
        module="credentials",
    ),
)
