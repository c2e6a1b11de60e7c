"""Commands get the environment of a login shell without being one."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
def profile(tmp_path):
    def write(text: str) -> None:
        (tmp_path / ".bash_profile").write_text(text)

    return write


def body(result) -> str:
    return result.output.split("Output:\n", 1)[1]


async def test_the_profile_counts(open_shell, profile):
    profile("export GREETING='hello\nthere'; PATH=$HOME/bin:$PATH\n")
    async with open_shell() as shell:
        result = await shell.exec('echo "$GREETING"; echo $PATH', login=True)
    greeting, there, path = body(result).splitlines()
    assert (greeting, there) == ("hello", "there")
    assert path.startswith(f"{shell.context.cwd}/bin:")


async def test_it_does_not_count_without_login(open_shell, profile):
    profile("export GREETING=hello\n")
    async with open_shell() as shell:
        assert body(await shell.exec("echo [$GREETING]", login=False)) == "[]\n"


async def test_the_profile_is_read_once_per_session(open_shell, profile, tmp_path):
    profile(f"echo read >> {tmp_path}/count; export GREETING=hello\n")
    async with open_shell() as shell:
        await shell.exec_tool.prewarm(shell.context)
        for _ in range(3):
            assert body(await shell.exec("echo $GREETING", login=True)) == "hello\n"
    assert (tmp_path / "count").read_text() == "read\n"


async def test_sessions_that_are_alike_share_what_was_read(open_shell, profile, tmp_path):
    profile(f"echo read >> {tmp_path}/count; export GREETING=hello\n")
    for _ in range(2):
        async with open_shell() as shell:
            assert body(await shell.exec("echo $GREETING", login=True)) == "hello\n"
    assert (tmp_path / "count").read_text() == "read\n"


async def test_another_environment_is_read_anew(open_shell, profile):
    profile("export GREETING=$NAME\n")
    for name in ("one", "two"):
        async with open_shell(environ={"NAME": name}) as shell:
            assert body(await shell.exec("echo $GREETING", login=True)) == f"{name}\n"


async def test_what_the_profile_prints_is_no_output(open_shell, profile):
    profile("echo welcome; echo NAME=value; echo oops >&2; export GREETING=hello\n")
    async with open_shell() as shell:
        assert body(await shell.exec("echo $GREETING$NAME", login=True)) == "hello\n"


async def test_a_broken_profile_leaves_the_plain_environment(open_shell, profile):
    profile("exit 1\n")
    async with open_shell() as shell:
        assert body(await shell.exec("echo $MARK", login=True)).strip()


async def test_a_command_is_never_a_login_shell_itself(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("shopt -q login_shell || echo plain", login=True)
        assert body(result) == "plain\n"
        assert [command.argv[1] for command in shell.context.sandbox.commands] == ["-lc", "-c"]
