"""Which hooks are read, from where, and what is said about those that cannot be used."""

from __future__ import annotations

import pytest

from ferrule_hooks.matcher import MatcherError, matcher_of
from ferrule_hooks.places import has_hooks
from ferrule_hooks.sources import read_handlers


def runs(place):
    return [handler.target for handler in read_handlers(place.context())]


@pytest.mark.parametrize(
    ("matcher", "names", "is_match"),
    [
        (None, ["Bash"], True),
        ("", ["Bash"], True),
        ("*", ["Bash"], True),
        ("Bash", ["Bash"], True),
        ("Bas", ["Bash"], False),
        ("bash", ["Bash"], False),
        (".*sh", ["Bash"], True),
        ("^Bash$", ["Bash"], True),
        ("exec_command", ["Bash"], False),
        ("Edit|Write", ["apply_patch", "Edit", "Write"], True),
        ("apply_patch", ["apply_patch", "Edit", "Write"], True),
        ("mcp__memory__.*", ["mcp__memory__store"], True),
        ("mcp__memory", ["mcp__memory__store"], False),
    ],
)
def test_a_matcher_is_a_name_or_a_regular_expression(matcher, names, is_match):
    assert matcher_of(matcher)(names) is is_match


def test_a_bad_regular_expression_is_named():
    with pytest.raises(MatcherError, match=r"'\(' is no regular expression"):
        matcher_of("(")


def test_files_of_administrator_user_and_project_are_merged(place, hook):
    place.write("admin", {"Stop": [hook("admin")]})
    place.write("home", {"Stop": [hook("user")]})
    place.write("ws/.ferrule", {"Stop": [hook("project")]})
    (place.home / "config.toml").write_text(
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'user toml'\n"
    )
    (place.ws / ".ferrule" / "config.toml").write_text(
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'project toml'\n"
    )
    place.config = {"hooks": {"Stop": [hook("option")]}}

    assert runs(place) == ["admin", "user", "project", "project toml", "user toml", "option"]


def test_a_group_of_a_file_is_not_counted_again_as_an_option(place, hook):
    (place.home / "config.toml").write_text(
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'once'\n"
    )
    place.config = {"hooks": {"Stop": [hook("once")]}}

    assert runs(place) == ["once"]


def test_requirements_of_the_administrator_may_hold_hooks(place):
    (place.folder / "admin" / "requirements.toml").write_text(
        "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = 'guard'\n"
    )

    (handler,) = read_handlers(place.context())
    assert handler.source.standing == "administrator"


def test_codex_is_read_where_there_is_no_folder_of_ours(place, hook):
    place.write("ws/.ferrule", {"Stop": [hook("ours")]})
    (place.ws / ".codex").mkdir()
    place.write("ws/.codex", {"Stop": [hook("theirs")]})
    assert runs(place) == ["ours"]

    (place.ws / ".ferrule" / "hooks.json").unlink()
    (place.ws / ".ferrule").rmdir()
    assert runs(place) == ["theirs"]


def test_settings_of_claude_code_are_read_where_they_are_named(place, hook):
    (place.ws / ".claude").mkdir()
    settings = place.ws / ".claude" / "settings.json"
    place.write("ws/.claude", {"Stop": [hook("claude")]}).rename(settings)
    assert runs(place) == []

    place.config = {"hooks": {"files": [".claude/settings.json", "missing.json"]}}
    (handler,) = read_handlers(place.context())
    assert (handler.target, handler.source.standing) == ("claude", "project")
    assert "missing.json does not exist" in place.warnings[0]


def test_a_project_that_is_not_trusted_is_named_and_not_read(place, hook):
    place.is_trusted = False
    place.write("ws/.ferrule", {"PreToolUse": [hook("project")]})

    assert runs(place) == []
    assert "the project is not trusted" in place.warnings[0]


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ({"type": "prompt"}, "`prompt` must say what runs"),
        ({"type": "prompt", "prompt": "?", "async": True}, "always waited for"),
        ({"type": "agent", "prompt": "?", "model": 7}, "`model` must be a text"),
        ({"type": "mcp_tool", "tool": "t"}, "`server` must be a text"),
        ({"type": "mcp_tool", "server": "s", "tool": "t", "input": 1}, "`input` must be a table"),
        ({"type": "telegram"}, "no type 'telegram'"),
        ({"type": "command"}, "`command` must say what runs"),
        ({"type": "command", "command": "x", "timout": 3}, "no key timout"),
        ({"type": "command", "command": "x", "timeout": 0}, "`timeout` must be more than 0"),
        ({"type": "command", "command": "x", "on_error": "panic"}, "`on_error` must be block"),
        ({"type": "http", "url": "ftp://x"}, "must begin with http"),
        ({"type": "python", "function": "os.system"}, "module:function"),
        ("x", "must be a table"),
    ],
)
def test_one_bad_hook_drops_itself_alone(place, hook, bad, complaint):
    good = hook("good")
    good["hooks"].insert(0, bad)
    file = place.write("home", {"PreToolUse": [good]})

    assert runs(place) == ["good"]
    (warning,) = place.warnings
    assert complaint in warning
    assert f"{file}: PreToolUse[0].hooks[0]" in warning


@pytest.mark.parametrize("type_", ["prompt", "agent", "mcp_tool"])
def test_what_needs_a_running_turn_runs_only_there(place, type_):
    place.write("home", {"SessionStart": [{"hooks": [{"type": type_}]}]})

    assert runs(place) == []
    assert (
        f"a hook of the type {type_} can run at UserPromptSubmit, PreToolUse" in (place.warnings[0])
    )


def test_one_bad_group_drops_itself_alone(place, hook):
    file = place.write("home", {"PreToolUse": [hook("bad", "("), {"hooks": 1}, hook("good")]})

    assert runs(place) == ["good"]
    assert f"{file}: PreToolUse[0].matcher: '('" in place.warnings[0]
    assert f"{file}: PreToolUse[1] must be a table" in place.warnings[1]


def test_one_bad_file_drops_itself_alone(place, hook):
    (place.home / "hooks.json").write_text('{"hooks": {"Stop": [}}')
    place.write("ws/.ferrule", {"Stop": [hook("good")]})

    assert runs(place) == ["good"]
    assert "line 1 column 21" in place.warnings[0]


def test_events_without_a_place_are_named_once_with_a_guess(place, hook):
    place.write("home", {"PreToolUs": [hook("x")], "WorktreeCreate": [hook("x")]})

    assert runs(place) == []
    assert "no event PreToolUs (did you mean PreToolUse?), WorktreeCreate" in place.warnings[0]


def test_a_matcher_that_can_never_match_is_named(place, hook):
    place.write("home", {"PreToolUse": [hook("x", "exec_command")]})

    assert runs(place) == ["x"]
    assert "commands are called Bash here" in place.warnings[0]


def test_without_hooks_no_file_is_opened(place, monkeypatch):
    monkeypatch.setattr("builtins.open", lambda *_: pytest.fail("a file was opened"))
    place.is_bypassed = False

    assert not has_hooks(place.context())
