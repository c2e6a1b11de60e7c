"""The shell script that stands for a session where its commands run: in a container, on a machine.

It serves one request per line and ends with its input, whatever becomes of the session: what it is
the first process of ends with it. It needs a POSIX shell and the usual small programs (`cat`, `cp`,
`dd`, `grep`, `head`, `ln`, `mv`, `od`, `readlink`, `stat`), which every image with busybox or
coreutils has. `anchor.py` speaks to it.
"""

from __future__ import annotations

from typing import Final

# A request is an operation and its arguments, each `=` and the bytes, all but the plainest as
# `\0ooo`. An answer is `output, newline, exit code` in hexadecimal, then a line with a dot. What
# follows a request as data is read by one `dd`, which takes all of it before it writes any, so that
# a failure never leaves the rest to be taken for the next request.
ANCHOR_SCRIPT: Final = r"""
LC_ALL=C; export LC_ALL; set -f
decode() { decoded=$(printf '%b.' "${1#=}"); decoded=${decoded%.}; }
do_ping() { :; }
do_stat() {
    facts=$(stat -L -c '%s %a' -- "$a" 2>&1) || { printf %s "$facts"; return 1; }
    if [ -f "$a" ]; then kind=file; elif [ -d "$a" ]; then kind=directory; else kind=other; fi
    printf '%s %s' "$kind" "$facts"
}
do_real() {
    rest=
    while [ ! -e "$a" ] && [ ! -h "$a" ]; do rest=/${a##*/}$rest; a=${a%/*}; : "${a:=/}"; done
    found=$(readlink -f -- "$a"; printf .) || return 1
    found=${found%?.}
    printf %s "${found%/}$rest"
}
do_read() {
    [ -d "$a" ] && { echo 'Is a directory'; return 1; }
    [ -e "$a" ] && [ ! -f "$a" ] && { echo 'Invalid argument'; return 1; }
    if [ -n "$b" ]; then head -c "$b" -- "$a"; else cat -- "$a"; fi
}
do_list() {
    [ -e "$a" ] || { echo 'No such file or directory'; return 1; }
    [ -d "$a" ] || { echo 'Not a directory'; return 1; }
    { [ -r "$a" ] && cd -- "$a"; } 2>/dev/null || { echo 'Permission denied'; return 1; }
    set +f
    for name in * .[!.]* ..?*; do
        if [ -h "$name" ]; then kind=l
        elif [ -d "$name" ]; then kind=d
        elif [ -f "$name" ]; then kind=f
        elif [ -e "$name" ]; then kind=o
        else continue; fi
        printf '%s%s\0' "$kind" "$name"
    done
}
do_mkdir() { mkdir -- "$a"; }
do_rmdir() { rmdir -- "$a"; }
do_create() { (umask "${b:-022}" && set -C && : >"$a"); }
do_append() {
    dd bs="$b" count=1 iflag=fullblock 2>/dev/null | cat >>"$a"
}
do_mode() { chmod "$b" -- "$a"; }
do_keep() { is_plain "$a" && { ln -- "$a" "$b" 2>/dev/null || cp -p -- "$a" "$b"; }; }
do_move() { is_plain "$b" && mv -f -- "$a" "$b"; }
do_remove() { is_plain "$a" && rm -f -- "$a"; }
is_plain() {
    [ -h "$1" ] || [ ! -d "$1" ] || { echo 'Is a directory'; return 1; }
}
do_signal() { leader=$(leader_of "$a"); [ -n "$leader" ] && kill "-$b" "-$leader"; }
do_leader() { leader_of "$a"; }
do_end() { :; }
members_of() {
    set +f
    grep -l "^NSsid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null | tr -dc '0-9\n'
    set -f
}
end_session() {
    for round in 1 2 3; do
        members=$(members_of "$1")
        [ -n "$members" ] || break
        kill -9 $members 2>/dev/null
    done
    kill -9 "-$1" 2>/dev/null
}
@LOOKUP@
trap '' HUP INT QUIT TERM
while IFS= read -r line; do
    set -- $line
    op=$1; a=; b=
    [ -n "${2-}" ] && { decode "$2"; a=$decoded; }
    [ -n "${3-}" ] && { decode "$3"; b=$decoded; }
    [ "$op" = end ] && end_command "$a" "$b" >/dev/null 2>&1
    { "do_$op" 2>&1; printf '\n%s' "$?"; } | od -An -v -tx1
    echo .
done
end_all >/dev/null 2>&1
"""

# In a process namespace of its own only what was brought in from outside has no parent, which
# nothing inside can feign; and what is left when no command runs belongs to nobody.
_OF_A_CONTAINER: Final = r"""
guests() {
    set +f
    grep -l '^PPid:[[:space:]]*0$' /proc/[0-9]*/status 2>/dev/null | tr -dc '0-9\n' | grep -vx 1
    set -f
}
leader_of() {
    for guest in $(guests); do
        words=$(tr '\0' ' ' <"/proc/$guest/cmdline" 2>/dev/null)
        case $words in *" /run/ferrule/$1.sh "*) echo "$guest" ;; esac
    done
}
end_command() {
    leader=$(leader_of "$1")
    [ -n "$leader" ] && end_session "$leader"
    [ "$2" = idle ] && kill -9 -1
}
end_all() { kill -9 -1; }
"""

# On a shared machine the command's first words are its number, written where only it may write.
_OF_A_MACHINE: Final = r"""
folder=$(mktemp -d) || exit 1
printf '%s\n' "$folder"
leader_of() {
    [ -f "$folder/$1.pid" ] && cat "$folder/$1.pid"
}
end_command() {
    leader=$(leader_of "$1")
    rm -f "$folder/$1.sh" "$folder/$1.pid"
    [ -n "$leader" ] && end_session "$leader"
}
end_all() {
    set +f
    for file in "$folder"/*.pid; do
        [ -f "$file" ] && end_session "$(cat "$file")"
    done
    rm -rf "$folder"
}
"""

CONTAINER_ANCHOR: Final = ANCHOR_SCRIPT.replace("@LOOKUP@", _OF_A_CONTAINER)
MACHINE_ANCHOR: Final = ANCHOR_SCRIPT.replace("@LOOKUP@", _OF_A_MACHINE)
