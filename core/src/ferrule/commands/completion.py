"""`ferrule completion`: scripts that let a shell complete command lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host

_BASH: Final = """\
_ferrule() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _ferrule ferrule
"""
_ZSH: Final = """\
#compdef ferrule
_ferrule() {
    local -a found
    found=("${(@f)$(ferrule __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[*]}" ]]; then _describe ferrule found; else _files; fi
}
compdef _ferrule ferrule
"""
_FISH: Final = """\
function __ferrule_complete
    set -l found (ferrule __complete fish (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c ferrule -f -a '(__ferrule_complete)'
"""
_EPILOG: Final = "For bash, put  source <(ferrule completion bash)  into ~/.bashrc."
_SHELLS: Final = "Your shell: bash, zsh or fish."
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class CompletionCommand:
    """The sub-command; it satisfies the contract's `RawCommand`."""

    help = "Print a script that lets your shell complete ferrule."
    options = tuple(_SCRIPTS)

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Print the script of a shell."""
        from ferrule.argument_parser import GuessingParser

        parser = GuessingParser(prog="ferrule completion", description=self.help, epilog=_EPILOG)
        parser.add_argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help=_SHELLS)
        try:
            shell: str = parser.parse_args(argv).shell
        except SystemExit as end:
            return int(end.code or 0)
        sys.stdout.write(_SCRIPTS[shell])
        return 0


command = CompletionCommand()
