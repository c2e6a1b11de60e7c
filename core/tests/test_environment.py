"""Which variables a command gets."""

import pytest

from ferrule.environment import command_environment, without_secrets

OURS = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "FOO": "1",
    "MY_SECRET_KEY": "s",
    "a_token": "t",
    "DB_PASSWORD": "p",
    "AWS_CREDENTIALS": "c",
    "LD_PRELOAD": "/evil.so",
    "LD_AUDIT": "/evil.so",
    "LD_LIBRARY_PATH": "/lib",
    "DYLD_INSERT_LIBRARIES": "/evil.dylib",
    "MallocStackLogging": "1",
}
FIXED = {"TERM", "NO_COLOR", "COLORTERM", "PAGER", "GIT_PAGER", "GH_PAGER"} | {
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "FERRULE_CI",
    "CODEX_CI",
}


def environment(extra=None, **policy):
    return command_environment({"shell_environment_policy": policy}, OURS, extra)


def own(**policy):
    return set(environment(**policy)) - FIXED


def test_by_default_everything_but_secrets_and_injected_libraries():
    assert own() == {"PATH", "HOME", "FOO"}
    assert set(command_environment({}, OURS)) - FIXED == own()


def test_secrets_are_kept_only_on_request():
    kept = own(ignore_default_excludes=True)
    assert {"MY_SECRET_KEY", "a_token", "DB_PASSWORD", "AWS_CREDENTIALS"} <= kept
    assert "LD_PRELOAD" not in kept


@pytest.mark.parametrize(
    ("inherit", "names"),
    [("core", {"PATH", "HOME"}), ("none", set()), ("what is this", set())],
)
def test_less_can_be_inherited(inherit, names):
    assert own(inherit=inherit) == names


def test_exclude_and_include_only_are_patterns_without_case():
    assert own(exclude=["fo*"]) == {"PATH", "HOME"}
    assert own(include_only=["PA??", "h*"]) == {"PATH", "HOME"}


def test_set_adds_and_replaces_and_may_name_a_secret():
    given = environment(set={"FOO": "override", "MY_TOKEN": "given", "TERM": "xterm"})
    assert (given["FOO"], given["MY_TOKEN"], given["TERM"]) == ("override", "given", "xterm")


def test_programs_are_told_that_nobody_watches():
    given = environment(inherit="none")
    assert set(given) == FIXED
    assert (given["TERM"], given["PAGER"], given["LANG"]) == ("dumb", "cat", "C.UTF-8")


def test_what_the_tool_adds_wins():
    assert environment({"FOO": "tool"})["FOO"] == "tool"


def test_children_of_our_own_get_everything_but_secrets():
    assert set(without_secrets(OURS)) == OURS.keys() - {
        "MY_SECRET_KEY",
        "a_token",
        "DB_PASSWORD",
        "AWS_CREDENTIALS",
    }
