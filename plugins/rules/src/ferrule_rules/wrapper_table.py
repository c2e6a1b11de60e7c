"""How the command lines of programs that run other programs are laid out."""

from __future__ import annotations

from typing import Final, NamedTuple


class Layout(NamedTuple):
    """How a wrapper's command line is laid out.

    Attributes:
        with_value: Options whose value is the next word.
        skip: Words before the command that are not options.
        assigns: Whether `NAME=value` may stand before the command.
    """

    with_value: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False


def _layout(options: str = "", skip: int = 0, *, assigns: bool = False) -> Layout:
    return Layout(frozenset(options.split()), skip, assigns)


WRAPPERS: Final[dict[str, Layout]] = {
    "sudo": _layout(
        "-u -g -h -p -C -D -R -r -t -T -U --user --group --host --prompt --close-from --chdir "
        "--chroot --role --type --other-user --command-timeout",
        assigns=True,
    ),
    "doas": _layout("-u -C", assigns=True),
    "pkexec": _layout("--user -u"),
    "run0": _layout("-u -g -D --user --group --chdir"),
    "env": _layout("-u -C -S --unset --chdir --split-string", assigns=True),
    "timeout": _layout("-k -s --kill-after --signal", 1),
    "gtimeout": _layout("-k -s --kill-after --signal", 1),
    "nice": _layout("-n --adjustment"),
    "ionice": _layout("-c -n -p --class --classdata"),
    "chrt": _layout("", 1),
    "taskset": _layout("", 1),
    "numactl": _layout("-N -m -C -i -p --cpunodebind --membind --physcpubind"),
    **dict.fromkeys(("do", "then", "else", "elif", "if", "while", "until", "!", "{"), Layout()),
    "nohup": _layout(),
    "setsid": _layout(),
    "stdbuf": _layout("-i -o -e --input --output --error"),
    "unbuffer": _layout(),
    "time": _layout("-f -o --format --output"),
    "exec": _layout("-a"),
    "command": _layout(),
    "builtin": _layout(),
    "coproc": _layout(),
    "noglob": _layout(),
    "nocorrect": _layout(),
    "chroot": _layout("--userspec --groups", 1),
    "unshare": _layout("-S -G -R -w --setuid --setgid --root --wd"),
    "dbus-launch": _layout(),
    **dict.fromkeys(("wsl", "wsl.exe"), _layout("-d -u --distribution --user --cd")),
    "gnome-terminal": _layout("-t --title --working-directory"),
    "runuser": _layout("-u -g -G -s -c --user --group --supp-group --shell --command"),
    "cmd": _layout("", 1),
    "cmd.exe": _layout("", 1),
    "ld.so": _layout("--library-path --preload --argv0"),
    "ld-linux.so.2": _layout("--library-path --preload --argv0"),
    "ld-linux-aarch64.so.1": _layout("--library-path --preload --argv0"),
    "ld-musl-x86_64.so.1": _layout("--library-path --preload --argv0"),
    "nsenter": _layout("-t -S -G --target --setuid --setgid"),
    "setpriv": _layout("--reuid --regid --groups --inh-caps --bounding-set"),
    "bwrap": _layout(
        "--bind --ro-bind --dev --proc --tmpfs --chdir --setenv --unsetenv --seccomp --args"
    ),
    "strace": _layout("-e -o -p -s -u -E -P -a -O -S -I -b -X"),
    "ltrace": _layout("-e -o -p -s -u -a -l -n -x -F"),
    "valgrind": _layout(),
    "perf": _layout("-o -e -F", 1),
    "watch": _layout("-n -q --interval --equexit"),
    "flock": _layout("-w -E --timeout --wait --conflict-exit-code", 1),
    "setarch": _layout("", 1),
    "linux64": _layout(),
    "linux32": _layout(),
    "catchsegv": _layout(),
    "torsocks": _layout("-u -p -a -P"),
    "proxychains": _layout("-f"),
    "proxychains4": _layout("-f"),
    "faketime": _layout("-f", 1),
    "dbus-run-session": _layout("--config-file"),
    "xvfb-run": _layout("-e -f -n -p -s -w"),
    "systemd-run": _layout("-p -u -E -M -H --property --unit --setenv --slice --description"),
    "busybox": _layout(),
    "toybox": _layout(),
    "caffeinate": _layout("-t -w"),
    "npx": _layout("-p -c --package --call --cache"),
    "pnpx": _layout("-p --package"),
    "bunx": _layout("-p --package"),
    "uvx": _layout("--from --with --python -p"),
    "direnv": _layout("", 2),
    "dotenv": _layout("-f -e --file"),
    "entr": _layout(),
    "parallel": _layout("-j -N -I -a --jobs --colsep --joblog --arg-file"),
    "xargs": _layout(
        "-I -n -P -L -s -E -d -a --max-args --max-procs --max-lines --delimiter --arg-file "
        "--replace --max-chars --eof"
    ),
    "ld-linux-x86-64.so.2": _layout("--library-path --preload --argv0"),
}
SUBCOMMANDS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "npm": (("exec",), ("x",)),
    "pnpm": (("exec",), ("dlx",)),
    "yarn": (("exec",), ("dlx",)),
    "bun": (("x",),),
    "uv": (("run",),),
    "poetry": (("run",),),
    "pipenv": (("run",),),
    "hatch": (("run",),),
    "pdm": (("run",),),
    "rye": (("run",),),
    "bundle": (("exec",),),
    "mise": (("exec",), ("x",)),
    "asdf": (("exec",),),
    "rbenv": (("exec",),),
    "pyenv": (("exec",),),
    "conda": (("run",),),
    "nix": (("run",), ("shell",)),
    "git": (("bisect", "run"), ("submodule", "foreach")),
    "op": (("run",),),
}
