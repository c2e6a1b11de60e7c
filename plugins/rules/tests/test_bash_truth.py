"""What bash really runs, against what the readers say: in a sandbox, with stand-ins for programs.

Two properties. Sound: whatever a script that is judged *allow* runs is allowed by the rules.
Complete: a composed script that runs the forbidden program is never judged harmless.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess

import pytest

from ferrule_rules.judgement import Judge

pytestmark = pytest.mark.skipif(
    not shutil.which("bwrap") or not shutil.which("bash"), reason="needs bubblewrap and bash"
)
ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.S)
MARK = "\x01"
REAL = [
    "env",
    "timeout",
    "nohup",
    "nice",
    "xargs",
    "find",
    "sh",
    "setsid",
    "stdbuf",
    "base64",
    "rev",
]
STAND_INS = ["curl", "make", "ls", "cat", "git", "tool", "sudo", "rm"]
ALLOWING = (
    "allow prefix ls\nallow prefix cat\nallow prefix git status\nallow prefix echo\n"
    "allow prefix printf\nallow exact make all\nallow prefix cd\nallow prefix true\n"
    "allow prefix tool writes:out/*\n"
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A folder that becomes the root of a sandbox: bash, a few real programs, and stand-ins."""
    root = tmp_path_factory.mktemp("machine")
    for name in ("bin", "log", "work"):
        (root / name).mkdir()
    for name in STAND_INS:
        stand_in = root / "bin" / name
        stand_in.write_text(
            '#!/real/bash\nprintf "%s\\1" "${0##*/}" "$@" >> /log/ran; printf "\\n" >> /log/ran\n'
            + ('exec "$@"\n' if name == "sudo" else "")
        )
        stand_in.chmod(0o755)
    return root


def in_sandbox(root, driver, scripts, seconds=300):
    """Run a driver that reads scripts, each ended by a zero byte."""
    log = root / "log" / "ran"
    log.write_bytes(b"")
    real = [a for n in [*REAL, "bash"] for a in ("--ro-bind", shutil.which(n), f"/real/{n}")]
    argv = [
        *("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/lib", "/lib"),
        *("--ro-bind-try", "/lib64", "/lib64", "--ro-bind", "/usr/lib", "/usr/lib"),
        *real,
        *("--ro-bind", str(root / "bin"), "/bin", "--bind", str(root / "log"), "/log"),
        *("--tmpfs", "/work", "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc"),
        *("--chdir", "/work", "--clearenv", "--setenv", "PATH", "/bin:/real"),
        *("--setenv", "LC_ALL", "C.UTF-8"),
        *("--setenv", "HOME", "/work", "/real/bash", "-c", driver),
    ]
    data = b"".join(os.fsencode(script) + b"\0" for script in scripts)
    done = subprocess.run(argv, input=data, capture_output=True, timeout=seconds)
    return done.stdout, log.read_bytes()


# --- complete ---------------------------------------------------------------------------------

COUNTING = r"""
n=0
while IFS= read -r -d '' script; do
  printf '\2%s\n' "$n" >> /log/ran
  ( ulimit -t 5; timeout 3 /real/bash -c "$script" ) </dev/null >/dev/null 2>&1
  kill -9 -1 2>/dev/null  # what is left of it must not count for the next one
  n=$((n+1))
done
"""
WORDS = [
    "curl",
    "'curl'",
    '"curl"',
    "\\curl",
    'c"u"rl',
    "$'curl'",
    "c\\url",
    "/bin/curl",
    "cu''rl",
    "${X:-curl}",
    "$(echo curl)",
    "{curl,x}",
    "$'\\x63url'",
    "cur[l]",
    "/bin/cur?",
    "$C",
    "`echo curl`",
    "c${E}url",
    "$(printf curl)",
    "/bin/../bin/curl",
    "$(which curl || echo curl)",
]
AROUND = [
    "{0}",
    "{0} > out",
    "2>&1 {0}",
    "A=1 {0}",
    "env {0}",
    "env -i PATH=/bin {0}",
    "env A=b {0}",
    "timeout 2 {0}",
    "timeout -k 1 2 {0}",
    "nohup {0}",
    "nice -n 5 {0}",
    "setsid -w {0}",
    "sudo {0}",
    "stdbuf -o0 {0}",
    "command {0}",
    "exec {0}",
    "builtin command {0}",
    "( {0} )",
    "{{ {0}; }}",
    "! {0}",
    "{0} &\nwait",
    "true && {0}",
    "false || {0}",
    "true; {0}",
    "ls | {0}",
    "{0} | cat",
    "if true; then {0}; fi",
    "for i in 1; do {0}; done",
    "while {0}; do break; done",
    "case x in x) {0};; esac",
    "f() {{ {0}; }}; f",
    "function f {{ {0}; }}; f",
    "x=$({0})",
    'echo "$({0})"',
    "echo `{0}`",
    "cat <({0})",
    "[[ -n $({0}) ]]",
    "(( $({0}; echo 1) ))",
    "eval {q}",
    "bash -c {q}",
    "sh -c {q}",
    "bash -lc {q}",
    "env bash -c {q}",
    "bash <<< {q}",
    "bash <<'END'\n{0}\nEND\n",
    "cat <<'END' | sh\n{0}\nEND\n",
    "echo {q} | bash",
    "trap {q} EXIT",
    "printf '%s\\n' {q} | sh",
    "source <(echo {q})",
    "time {0}",
    "coproc {0}\nwait",
    "ls # x\n{0}",
    "ls \\\n; {0}",
    "# a \\\n{0}",
    "cat <<END\n$({0})\nEND\n",
    "echo x | while read l; do {0}; done",
    "select x in 1; do {0}; break; done <<< 1",
    "until {0}; do :; done",
    "find /bin -name ls -exec {0} \\;",
    "echo x | xargs {0}",
    "xargs -I% {0} <<< %",
    "alias x=y\n{0}",
    "shopt -s expand_aliases\nalias k={q}\nk",
    'set -- {0}\n"$@"',
    'a=({0}); "${{a[@]}}"',
    "if false; then :; else {0}; fi",
    "{0} arg <<< x",
    "echo {b} | base64 -d | sh",
    "ls ${{UNSET:-$({0})}}",
    "export V=$({0})",
    "declare v=$({0})",
    "echo $(( 1 + $({0}; echo 1) ))",
    "{0} 2>/dev/null || true",
    "C=curl; $C",
    "$(echo {q})",
    "git() {{ {0}; }}; git",
]


def composed(random_):
    script = random_.choice(WORDS) + random_.choice(["", " x", " -k 'a b'"])
    for _ in range(random_.randint(1, 3)):
        import base64

        encoded = base64.b64encode(script.encode()).decode()
        outer = random_.choice(AROUND)
        script = outer.format(script, q=shlex.quote(script), b=encoded)
    return random_.choice(["", "E=;", "C=curl;", "C=curl;E=;"]) + script


def check_completeness(machine, policy, seed, count):
    random_ = random.Random(seed)
    scripts = [composed(random_) for _ in range(count)]
    _, log = in_sandbox(machine, COUNTING, scripts, seconds=1500)
    judge = Judge(policy("forbidden prefix curl\n"))
    ran = {}
    for part in log.split(b"\2")[1:]:
        number, _, commands = part.partition(b"\n")
        ran[int(number)] = any(line.startswith(b"curl\1") for line in commands.split(b"\n"))
    assert len(ran) == count
    missed = [s for n, s in enumerate(scripts) if ran[n] and judge.script(s).decision is None]
    assert missed == [], "\n".join(f"MISS {s!r}" for s in missed)
    return sum(ran.values())


def test_no_composition_hides_a_forbidden_program(machine, policy):
    assert check_completeness(machine, policy, 15, 300) > 150


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_composition_of_many_hides_a_forbidden_program(machine, policy):
    assert check_completeness(machine, policy, 5, 8000) > 4000


# --- sound ------------------------------------------------------------------------------------

TRACING = r"""
while IFS= read -r -d '' script; do
  printf '\2\n' >&7
  BASH_XTRACEFD=7 BASH_ENV=/log/start timeout 3 /real/bash -xc "$script" </dev/null >/dev/null 2>&1
done 7>/log/trace
"""
GOOD = [
    "ls",
    "ls -l a",
    "cat a b",
    "git status",
    "git status --short",
    "echo hi",
    "make all",
    "cd x",
    "printf x",
    "true",
    "'ls'",
    "ls 'a b'",
    'echo "x y"',
    "/bin/ls",
    "tool > out/x",
    "ls 2>&1",
    "cat a#b",
    "echo a=b",
    "tool 2>/dev/null",
    "ls <a",
    "echo ''",
]
JOINTS = [" && ", " || ", "; ", " | ", "\n", ";", "&&", "|", "\n\n", " ;\n", " &", " |& "]
NASTY = [
    *"$`\\'\"#;&|<>(){}[]*?~=!%^,+-:@ \t\n\r\v\fabc019",
    "$(curl)",
    "`curl`",
    "${x}",
    "curl",
    "<<E",
    ">>",
    "2>",
    ">&",
    "&>",
    "<(curl)",
    "$'",
    '$"',
    "\\\n",
    "rm",
    "=curl",
    "A=1 ",
    "if ",
    "time ",
    "! ",
    "\u00a0",
    "\u2003",
    "é",
    "\x1b",
    "-c",
    "eval ",
    "{a,b}",
    "export PATH=/x",
    "alias ls=curl",
    "exec ",
    "hash -p /bin/curl ls",
    "[ -v 'a[$(curl)]' ]",
    "~/",
    "..",
]


def generated(random_):
    script = random_.choice(GOOD)
    for _ in range(random_.randint(0, 3)):
        script += random_.choice(JOINTS) + random_.choice(GOOD)
    for _ in range(random_.choice([0, 1, 1, 1, 2, 3])):
        at = random_.randint(0, len(script))
        cut = at + random_.choice([0, 0, 0, 1])
        script = script[:at] + random_.choice(NASTY) + script[cut:]
    return script


def check_soundness(machine, policy, seed, count):
    random_ = random.Random(seed)
    judge = Judge(policy(ALLOWING))
    allowed = []
    for _ in range(count):
        script = generated(random_)
        found = judge.script(script)
        if found.is_allowed:
            allowed.append((script, [list(one.command.argv) for one in found.segments]))
    # Not in the environment: bash takes PS4 from nobody when it runs as root.
    (machine / "log" / "start").write_text("PS4=$'\\1'\n")
    in_sandbox(machine, TRACING, [script for script, _ in allowed], seconds=1500)
    traced = (machine / "log" / "trace").read_bytes().split(b"\2\n")[1:]
    assert len(traced) == len(allowed)
    wrong = [
        (script, argv)
        for (script, expected), trace in zip(allowed, traced, strict=True)
        for argv in executed(trace)
        if argv not in expected
    ]
    assert wrong == [], "\n".join(f"WRONG {one!r}" for one in wrong)
    return len(allowed)


def executed(trace):
    """The argument lists of a trace; bash quotes them so that a shell reads them back."""
    for line in trace.decode("utf-8", "surrogateescape").split(MARK)[1:]:
        if line.strip():
            yield shlex.split(ANSI_C.sub(_plainly_quoted, line.rstrip("\n")))


def _plainly_quoted(found):
    text = re.sub(r"\\(n|t|.)", lambda one: {"n": "\n", "t": "\t"}.get(one[1], one[1]), found[1])
    return shlex.quote(text)


def test_what_is_allowed_runs_just_what_the_rules_allow(machine, policy):
    assert check_soundness(machine, policy, 6, 1500) > 150


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_is_allowed_runs_just_what_the_rules_allow_in_many_scripts(machine, policy):
    assert check_soundness(machine, policy, 7, 60_000) > 5_000
