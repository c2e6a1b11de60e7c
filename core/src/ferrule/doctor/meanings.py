"""What each check of the kernel tells; the reference page is made from this list.

A name in capitals stands for the name of a plugin or category. Plugins describe their own checks.
"""

from __future__ import annotations

from typing import Final

MEANINGS: Final[dict[str, str]] = {
    "CATEGORY.checks": "The checks of a category could not be made; says why.",
    "config.files": "Which configuration files count, in order, and what else sets values; fails"
    " when one cannot be used.",
    "config.plugins": "Whether the plugins in use take what `plugins.settings` says for them.",
    "config.requirements": "Whether the administrator's `requirements.toml` is there and can be"
    " read, and which keys it constrains.",
    "config.trust": "Whether you trust the project, and which file of it is left out because you"
    " do not.",
    "config.warnings": "Keys that are unknown, ignored or overruled.",
    "git.repository": "Whether git works in this folder, or refuses it because another user owns"
    " it (`safe.directory`).",
    "git.version": "Whether git is there and runs.",
    "home.folder": "Whether `$FERRULE_HOME` is there, or can be made, and is writable.",
    "home.permissions": "Whose the home is; fails when others may write it or a configuration file"
    " in it, warns when others may read it.",
    "home.secrets": "Whether files with credentials may be read by others.",
    "home.space": "Free disk space: warns below 1 GiB, fails below 100 MiB.",
    "leftovers.processes": "Commands that still run although their session has ended.",
    "machine.hardening": "Whether other programs are kept from Ferrule's memory, and nothing loads"
    " foreign code into it; warns when something is open.",
    "machine.platform": "Operating system, processor, container, WSL; fails in WSL 1.",
    "machine.program": "Which Ferrule this is, and whether a shell would start another one.",
    "machine.python": "Which Python runs it, in which environment.",
    "network.certificates": "Whether `SSL_CERT_FILE` and `SSL_CERT_DIR` name what is there.",
    "network.proxy": "Which proxies the environment sets, shown without names and passwords.",
    "plugins.checks.PLUGIN": "A plugin's own checks failed or took longer than 20 s.",
    "plugins.entry.GROUP.PLUGIN": "A plugin that is installed and not used: broken, blocked,"
    " untrusted, incompatible or clashing, with the reason.",
    "plugins.folders": "Whether every folder and package that holds plugins can be used.",
    "plugins.named": "Whether the reviewer, sandbox and compactor that the configuration names are"
    " installed.",
    "plugins.required": "Whether a plugin listed in `plugins.required` is missing or unusable.",
    "plugins.unchanged": "Whether files of installed packages were edited since.",
    "plugins.usable": "How many distributions are in use, and what is switched off.",
    "provider.credentials": "Where the provider's key comes from and whether it is there; the key"
    " itself is never shown.",
    "provider.model": "Whether the server lists the configured model.",
    "provider.plugin": "Which provider and model are configured, by which file, and whether the"
    " provider's plugin can be made from its table.",
    "provider.reachable": "Whether the provider answers `GET base_url/models`: name, connection,"
    " proxy, certificate and key are told apart.",
    "sandbox.choice": "Which sandbox commands run in, and for each that could serve why it is or is"
    " not chosen; fails when no command could run.",
    "sandbox.confinement": "A command in the sandbox tries to write where it must not; fails when"
    " it can.",
    "sandbox.features": "What the chosen sandbox enforces here, what it does not, and which gaps"
    " you accepted.",
    "sandbox.run": "Whether a command runs in the sandbox at all.",
    "threads.ends": "Threads whose last line is torn, as by a power failure; `--repair` mends it.",
    "threads.index": "Whether the index agrees with the stored threads; `--repair` builds it anew.",
    "threads.locks": "Locks that killed processes left; `--repair` removes them.",
    "threads.records": "Lines in threads that are no records; they are read around.",
    "threads.rollouts": "Whether every stored thread can be read.",
}
