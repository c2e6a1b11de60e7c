"""Probes that try to write, read or reach what the sandbox keeps away: files, names and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_certify.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_certify.probe import Evidence, Mode
    from ferrule_hookspecs.sandbox import Feature

BOTH: Final[tuple[Mode, ...]] = ("read-only", "workspace-write")
WRITING: Final[tuple[Mode, ...]] = ("workspace-write",)


def attacks(
    module: str,
    claims: Mapping[str, str],
    feature: Feature | None,
    evidence: Evidence = "answer",
    modes: tuple[Mode, ...] = WRITING,
) -> tuple[Probe, ...]:
    """Make probes that differ in what they do and claim alone."""
    return tuple(
        Probe(name, claim, "confinement", modes, feature, evidence, module)
        for name, claim in claims.items()
    )


_OUTSIDE: Final = {
    "files.create": "A file outside of the writable folders cannot be created.",
    "files.append": "A file outside cannot be added to.",
    "files.truncate": "A file outside cannot be cut short by its path.",
    "files.truncate_open": "A file outside cannot be cut short by opening it.",
    "files.unlink": "A file outside cannot be removed.",
    "files.rename_within": "A file outside cannot be renamed.",
    "files.rename_away": "A file outside cannot be moved into the workspace.",
    "files.rename_over": "A file of the command's own cannot be moved over one outside.",
    "files.exchange": "A file of the command's own cannot be exchanged with one outside.",
    "files.make_folder": "A folder outside cannot be created.",
    "files.remove_folder": "A folder outside cannot be removed.",
    "files.make_link": "A symbolic link outside cannot be created.",
    "files.hard_link_out": "A file of the command's own cannot be given a second name outside.",
    "files.hard_link_in": "A file outside cannot be given a second name in the workspace.",
    "files.make_pipe": "A named pipe outside cannot be created.",
    "files.make_socket": "A socket outside cannot be bound.",
    "files.relative_to_folder": "A descriptor of a folder outside does not help to write there.",
    "files.relative_to_root": "A descriptor of the root folder does not help to write outside.",
    "files.openat2": "The newer call to open files is bound like the old one.",
    "files.unnamed_file": "An unnamed file outside cannot be made and given a name.",
    "files.reopen": "A file opened for reading cannot be opened again for writing.",
    "files.handle": "A file handle does not lead around the sandbox.",
    "files.dots": "Going up by `..` does not lead out.",
    "files.root_of_self": "The root folder in /proc/self does not lead out.",
    "files.root_of_thread": "The root folder in /proc/thread-self does not lead out.",
    "files.folder_of_self": "The working directory in /proc/self does not lead out.",
    "files.root_of_others": "No process that can be seen has a root folder that leads out.",
    "files.folder_of_others": "No process that can be seen has a working directory that leads out.",
    "files.descriptors_of_others": "No process that can be seen has a descriptor that leads out.",
    "files.root_of_host_process": "The root folder of a process outside does not lead out.",
    "files.folder_of_host_process": "The working directory of a process outside does not lead out.",
    "files.shell_profile": "The shell's start file in the home cannot be added to.",
    "files.login_keys": "Keys that let others log in cannot be added to.",
    "files.autostart": "Nothing can be planted where a desktop starts programs from.",
    "files.beside_workspace": "Nothing can be created beside the workspace.",
    "files.bind_mount": "A folder outside cannot be bound into the workspace.",
    "files.remount": "What is mounted read-only cannot be mounted for writing again.",
    "files.uncover": "What the sandbox has mounted cannot be taken away.",
}
_BY_WORKSPACE: Final = {
    "files.through_folder_link": "A link in the workspace to a folder outside does not help.",
    "files.through_file_link": "A link in the workspace to a file outside does not help.",
    "files.through_new_link": "A link made by the command does not help to write outside.",
    "files.dots_of_moved_folder": "A folder that is moved while it is open does not lead out.",
    "files.move_workspace": "The workspace itself cannot be moved away.",
    "files.race_write": "Exchanging a folder for a link in a race does not let a write through.",
    "files.race_rename": "Exchanging a folder for a link in a race does not let a move through.",
    "files.race_folder": "Exchanging a folder for a link in a race makes no folder outside.",
    "files.race_remove": "Exchanging a folder for a link in a race removes no file outside.",
}
_METADATA: Final = {
    "files.change_mode": "The permissions of a file outside cannot be changed.",
    "files.change_owner": "The owner of a file outside cannot be set.",
    "files.change_times": "The times of a file outside cannot be changed.",
    "files.extended_attribute": "A file outside cannot be given an extended attribute.",
    "files.flags": "The flags of a file outside cannot be changed.",
}
_OF_SYSTEM: Final = {
    "files.system_accounts": "The system's accounts cannot be opened for writing.",
    "files.loader_settings": "The loader's cache cannot be opened for writing.",
}
_READ_ONLY: Final = {
    "files.workspace_create": "In read-only mode nothing can be created in the workspace.",
    "files.workspace_edit": "In read-only mode nothing can be changed in the workspace.",
    "files.workspace_remove": "In read-only mode nothing can be removed from the workspace.",
    "files.workspace_git": "In read-only mode nothing can be changed in the repository.",
}
_PROTECTED: Final = {
    "protected.hook": "A git hook cannot be planted.",
    "protected.hook_edit": "A git hook that is there cannot be changed.",
    "protected.hook_mode": "A git hook that is there cannot be made executable.",
    "protected.hooks_folder": "The folder of git hooks cannot be replaced.",
    "protected.config": "The configuration of a repository cannot be added to.",
    "protected.config_rename_over": "Nothing can be moved over a repository's configuration.",
    "protected.config_unlink": "A repository's configuration cannot be removed.",
    "protected.config_second_name": "A second name of a configuration does not let it be written.",
    "protected.config_new_link": "A link to the repository does not let it be written.",
    "protected.config_truncate": "A repository's configuration cannot be cut short.",
    "protected.config_reopen": "A configuration opened for reading cannot be opened for writing.",
    "protected.repository_move": "The folder of a repository cannot be moved away.",
    "protected.repository_replace": "The folder of a repository cannot be replaced.",
    "protected.repository_exchange": "The folder of a repository cannot be exchanged.",
    "protected.repository_remove": "The folder of a repository cannot be removed.",
    "protected.nested_hook": "A hook cannot be planted in a nested repository.",
    "protected.nested_config": "The configuration of a nested repository cannot be added to.",
    "protected.nested_replace": "The folder of a nested repository cannot be replaced.",
    "protected.nested_parent": "The folder that holds a nested repository cannot be replaced.",
    "protected.pointer": "The file that points to a worktree's repository cannot be changed.",
    "protected.settings": "The harness's settings in the workspace cannot be added to.",
    "protected.settings_new": "Nothing can be added beside the harness's settings.",
    "protected.settings_move": "The folder of the harness's settings cannot be moved away.",
    "protected.link": "A protected link cannot be made to lead elsewhere.",
    "protected.link_target": "Where a protected link leads nothing can be written.",
    "protected.second_root": "A second writable folder is protected like the first.",
    "protected.uncover": "The protection cannot be unmounted from a namespace of one's own.",
}
_MISSING: Final = {
    "missing.folder": "A protected name that is missing cannot be created as a folder.",
    "missing.file": "A protected name that is missing cannot be created as a file.",
    "missing.link": "A protected name that is missing cannot be created as a link.",
    "missing.move": "Nothing can be moved to a protected name that is missing.",
    "missing.remove_and_make": "What stands in for a missing name cannot be removed and replaced.",
    "missing.move_stand_in": "What stands in for a missing name cannot be moved away.",
    "missing.second_root": "Missing names are kept free in a second writable folder, too.",
}
_HOME_SECRETS: Final = {
    "secrets.home_key": "A key in the home cannot be read.",
    "secrets.home_key_root": "A key in the home cannot be read by way of /proc.",
    "secrets.home_key_link": "A key in the home cannot be read through a new link.",
    "secrets.home_key_mode": "A key in the home cannot be read after a change of permissions.",
}
_SECRETS: Final = {
    "secrets.folder": "A file in an unreadable folder of the workspace cannot be read.",
    "secrets.file": "An unreadable file of the workspace cannot be read.",
    "secrets.names": "The names in an unreadable folder cannot be listed.",
    "secrets.new_link": "A new link to an unreadable file does not help to read it.",
    "secrets.second_name": "A second name of an unreadable file does not help to read it.",
    "secrets.rename": "Renaming an unreadable file does not make it readable.",
    "secrets.rename_folder": "Renaming an unreadable folder does not make it readable.",
    "secrets.rename_parent": "Renaming the folder around an unreadable one does not help.",
    "secrets.mode": "Changing permissions does not make an unreadable folder readable.",
    "secrets.uncover": "What hides a file cannot be unmounted from a namespace of one's own.",
}
_READABLE: Final = {
    "readable.file": "A file outside of the readable folders cannot be read.",
    "readable.names": "A folder outside of the readable ones cannot be listed.",
    "readable.link": "A link in a readable folder does not lead out of it.",
    "readable.root_of_self": "The root folder in /proc/self shows no more than there is.",
}
_INHERITED: Final = {
    "secrets.environment": "What is in the harness's environment alone does not reach commands.",
    "secrets.environment_of_others": "No process that can be seen tells the harness's environment.",
}

CONFINEMENT: Final[tuple[Probe, ...]] = (
    *attacks("files", _OUTSIDE, "filesystem", "files", BOTH),
    *attacks("files", _BY_WORKSPACE, "filesystem", "files"),
    *attacks("files", _METADATA, "metadata", "files", BOTH),
    *attacks("files", _OF_SYSTEM, "filesystem", modes=BOTH),
    *attacks("files", _READ_ONLY, "filesystem", "files", ("read-only",)),
    *attacks("protected", _PROTECTED, "protected_paths", "files"),
    *attacks("protected", _MISSING, "missing_names", "files"),
    *attacks("credentials", _HOME_SECRETS, "deny_read", "secret", BOTH),
    *attacks("credentials", _SECRETS, "deny_read", "secret", ("deny-read",)),
    *attacks(
        "credentials",
        {"secrets.overwrite": "An unreadable file cannot be written either."},
        *("deny_read", "files"),
        modes=("deny-read",),
    ),
    *attacks("credentials", _READABLE, "readable_roots", "secret", ("readable-roots",)),
    *attacks("credentials", _INHERITED, None, "secret", BOTH),
)
