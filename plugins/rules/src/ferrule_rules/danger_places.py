"""Files whose change opens a door: what shells run at every start, keys, the system's tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_rules.reading import Redirect

_STARTUP: Final = re.compile(
    r"(^|/)(\.bashrc|\.bash_profile|\.bash_login|\.bash_logout|\.profile|\.zshrc|\.zshenv|"
    r"\.zprofile|\.zlogin|\.kshrc|\.cshrc|\.tcshrc|\.xinitrc|\.xprofile|\.pam_environment|"
    r"config\.fish|\.gitconfig|\.npmrc|\.pypirc|\.netrc|\.vimrc|\.inputrc)$"
)
_KEYS: Final = re.compile(
    r"(^|/)(\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.config/(gcloud|gh|autostart|systemd))/"
)
_SYSTEM: Final = re.compile(
    r"/etc/(passwd|shadow|sudoers|group|gshadow|hosts|crontab|fstab|ld\.so|pam\.d/|cron|ssh/|"
    r"systemd/|profile|environment|init|rc\.|sudoers\.d/)|/boot/|/sys/|/proc/sys|/usr/s?bin/|/s?bin/"
)
_HOOKS: Final = re.compile(r"(^|/)\.git/(hooks/|config$)")


def write_danger(redirects: Sequence[Redirect]) -> str:
    """Tell what writing these files does; empty where nothing is known."""
    for redirect in redirects:
        target = redirect.target
        if target is None:
            continue
        if _STARTUP.search(target):
            return f"it changes {target}, which is read whenever a program or a shell starts"
        if _KEYS.search(target):
            return f"it changes {target}, where keys and logins are kept"
        if _SYSTEM.match(target):
            return f"it changes {target}, a file of the system"
        if _HOOKS.search(target):
            return f"it changes {target}, which git runs or obeys"
    return ""
