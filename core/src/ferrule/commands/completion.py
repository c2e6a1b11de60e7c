"""`ferrule completion`: scripts that let a shell complete command lines."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import typer

app = typer.Typer(help="Print a script that lets your shell complete ferrule.")

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
complete -c ferrule -a '(ferrule __complete fish (commandline -opc)[2..] (commandline -ct))'
"""
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@app.command(epilog="Bash, for instance: put  source <(ferrule completion bash)  into ~/.bashrc")
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="Your shell.")],
) -> None:
    """Print a script that lets your shell complete ferrule."""
    typer.echo(_SCRIPTS[shell], nl=False)
