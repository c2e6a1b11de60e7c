"""The opinion that the kernel hears, by approval mode, rule, file and trust."""

from __future__ import annotations

import pytest

GRANULAR = {"granular": {"sandbox_approval": True, "rules": True, "mcp_elicitations": True}}
OUT = {"sandbox_permissions": "require_escalated", "justification": "must"}


def decision(verdict):
    return verdict and verdict.decision


class TestWithoutRules:
    @pytest.mark.parametrize("mode", ["on-request", "on-failure", GRANULAR], ids=str)
    @pytest.mark.parametrize(
        "cmd", ["rm -rf build", "git reset --hard", "curl x | sh", "dd if=x of=/dev/sda"]
    )
    def test_what_destroys_is_asked_about_with_a_reason(self, session, mode, cmd):
        session.approval_policy = mode
        verdict = session.judge(cmd)
        assert verdict.decision == "ask"
        assert verdict.reason

    @pytest.mark.parametrize("cmd", ["rm -rf build", "X=rm; $X -f y", "echo x > /dev/sda"])
    def test_never_refuses_what_cannot_be_undone(self, session, cmd):
        session.approval_policy = "never"
        verdict = session.judge(cmd)
        assert verdict.decision == "deny"
        assert "nobody may be asked" in verdict.reason

    @pytest.mark.parametrize("cmd", ["git reset --hard", "make", "npm install"])
    def test_never_leaves_the_rest_to_the_sandbox(self, session, cmd):
        session.approval_policy = "never"
        assert session.judge(cmd) is None

    @pytest.mark.parametrize("cmd", ["make", "python3 -c 'print(1)'", "rm x", "cat a > b"])
    def test_other_commands_run_in_the_sandbox_unasked(self, session, cmd):
        assert session.judge(cmd) is None

    @pytest.mark.parametrize("cmd", ["ls -la", "git status && git diff", "cat x | grep y | wc -l"])
    def test_untrusted_grants_what_only_reads(self, session, cmd):
        session.approval_policy = "untrusted"
        assert session.judge(cmd).grants

    @pytest.mark.parametrize(
        "cmd",
        [
            "make",
            "ls > x",
            "git commit",
            "find . -delete",
            "find . -exec sh {} +",
            "sort -o x y",
            "uniq a b",
            "printf -v PATH x",
            "test -v 'a[$(id)]'",
            "rg --pre sh x",
            "git -c core.pager=x log",
            "git diff --output=x",
            "./ls",
            "/tmp/ls",
        ],
    )
    def test_untrusted_asks_about_everything_else(self, session, cmd):
        session.approval_policy = "untrusted"
        assert decision(session.judge(cmd)) == "ask"

    def test_only_reading_is_no_reason_to_leave_the_sandbox(self, session):
        for mode in ("untrusted", "on-request"):
            session.approval_policy = mode
            assert not session.judge("cat secret", **OUT).grants

    def test_other_tools_are_not_judged(self, session):
        assert session.judge("rm -rf /", tool="write_stdin") is None


class TestWithRules:
    def test_forbidden_is_refused_with_the_justification(self, session):
        session.rules('forbidden prefix curl because:"use fetch"\n')
        verdict = session.judge("echo $(curl x)")
        assert verdict.decision == "deny"
        assert verdict.reason == "`curl x` rejected: use fetch"
        assert "own.rules:1" in verdict.rule

    def test_prompt_asks_and_may_want_a_person(self, session):
        session.rules("prompt prefix terraform apply reviewer:user\n")
        verdict = session.judge("cd infra && terraform -chdir=x apply")
        assert (verdict.decision, verdict.reviewer) == ("ask", "user")
        assert verdict.amendments == ()

    def test_allow_answers_the_question_about_danger(self, session):
        session.rules("allow prefix rm -rf build\n")
        assert session.judge("rm -rf build").grants
        assert decision(session.judge("rm -rf build && rm -rf src")) == "ask"

    def test_allow_lets_a_call_leave_the_sandbox_that_asks_to(self, session):
        session.rules("allow prefix npm install\n")
        assert session.judge("npm install x", **OUT).grants
        assert not session.judge("npm install x && npm run y", **OUT).grants
        assert not session.judge("npm install x | tee y", **OUT).grants

    def test_never_lets_nothing_leave_the_sandbox(self, session):
        session.rules("allow prefix npm install\n")
        session.approval_policy = "never"
        assert not session.judge("npm install x", **OUT).grants

    @pytest.mark.parametrize(
        "cmd",
        [
            "npm install $(curl x)",
            "npm install > ~/.bashrc",
            "PATH=/evil npm install",
            "npm install; eval x",
            "/tmp/npm install",
            "./npm install",
            "npm install &",
            "npm() { curl x; }; npm install",
            "alias npm=curl; npm install",
            "hash -p /evil npm; npm install",
            "export PATH=/evil; npm install",
            "npm install <<< x",
            "npm inst*",
            "npm install 2>&1,",
            "npm install 2>&1..",
        ],
    )
    def test_allow_speaks_only_for_plain_words(self, session, cmd):
        session.rules(
            "allow prefix npm install\nallow prefix alias\nallow prefix hash\n"
            "allow prefix export\nallow prefix eval\n"
        )
        verdict = session.judge(cmd, **OUT)
        assert not (verdict and verdict.grants)

    def test_other_shells_are_never_allowed(self, session):
        session.rules("allow prefix npm install\nforbidden prefix git push\n")
        verdict = session.judge("npm install", shell="/usr/bin/fish")
        assert verdict is None
        assert decision(session.judge("& git push", shell="pwsh")) == "deny"

    def test_writes_are_allowed_only_where_the_rule_says_so(self, session):
        session.rules("allow prefix pytest writes:build/**\n")
        assert session.judge("pytest > build/a/log 2>&1").grants
        for cmd in ("pytest > log", "pytest > build/../log", "pytest > build/x > y"):
            verdict = session.judge(cmd)
            assert not (verdict and verdict.grants), cmd

    def test_a_rule_may_forbid_writing_somewhere(self, session):
        session.rules("forbidden prefix * writes:secrets/*\n")
        assert decision(session.judge("echo x > secrets/y")) == "deny"
        assert session.judge("echo x > other") is None

    def test_an_unknown_program_is_asked_about_where_something_is_forbidden(self, session):
        assert session.judge("$TOOL push") is None
        session.rules("forbidden prefix git push\n")
        assert decision(session.judge("$TOOL push")) == "ask"


class TestFiles:
    def test_strictest_wins_over_all_files(self, session):
        session.rules("allow prefix curl\n", "a.rules")
        session.rules("forbidden prefix curl\n", folder=session.tmp / "admin" / "rules")
        assert decision(session.judge("curl x")) == "deny"

    def test_a_changed_file_counts_at_once(self, session):
        session.rules("forbidden prefix curl\n")
        assert decision(session.judge("curl x")) == "deny"
        session.rules("forbidden prefix curly\n")
        assert session.judge("curl x") is None

    def test_a_broken_file_is_named_once_and_its_allowing_rules_are_gone(self, session):
        session.rules("prefix_rule(pattern=['make'])\nprefix_rule(pattern=[])\n", "a.rules")
        session.rules("allow prefix npm install\n", "b.rules")
        assert session.judge("make") is None
        assert session.judge("npm install").grants
        assert len(session.warnings) == 1
        assert "a.rules:2:1" in session.warnings[0]
        assert "^^^" in session.warnings[0]

    def test_while_a_file_that_may_forbid_is_broken_every_command_needs_approval(self, session):
        session.rules("prefix_rule(['curl'], 'forbidden')\nprefix_rule(\n", "a.rules")
        session.rules("allow prefix npm install\nforbidden prefix wget\n", "b.rules")
        for cmd in ("npm install", "ls", "curl x"):
            verdict = session.judge(cmd)
            assert verdict.decision == "ask"
            assert "a.rules" in verdict.reason
        assert decision(session.judge("wget x")) == "deny"

    def test_plain_lines_that_can_be_read_still_forbid(self, session):
        session.rules("forbidden prefix curl\nallow preffix x\nallow prefix make\n")
        assert decision(session.judge("curl x")) == "deny"
        assert session.judge("make") is None
        assert "own.rules:2:7" in session.warnings[0]

    def test_a_trusted_project_has_rules_of_its_own(self, session):
        session.rules("allow prefix make\n", folder=session.project / ".ferrule" / "rules")
        assert session.judge("make") is None
        assert "not trusted" in session.warnings[0]
        session.is_trusted = True
        assert session.judge("make").grants

    def test_rules_of_codex_count_where_there_are_none_of_ferrule(self, session):
        session.is_trusted = True
        session.rules("forbidden prefix make\n", folder=session.project / ".codex" / "rules")
        assert decision(session.judge("make")) == "deny"

    def test_requirements_of_the_administrator_cannot_be_undone(self, session):
        session.rules(
            '[[rules.prefix_rules]]\npattern = [{token = "curl"}, {any_of = ["-k", "-K"]}]\n'
            'decision = "forbidden"\njustification = "company policy"\n',
            "requirements.toml",
            session.tmp / "admin",
        )
        session.rules("allow prefix curl\n")
        verdict = session.judge("curl -s -k x > y")
        assert verdict.decision == "deny"
        assert "company policy" in verdict.reason

    def test_a_file_that_cannot_be_read_may_forbid_anything(self, session):
        session.rules("x").write_bytes(b"\xff\xfe")
        assert decision(session.judge("ls")) == "ask"


class TestBombs:
    @pytest.mark.parametrize(
        "cmd",
        [
            "echo " + "a" * 2_000_000,
            "(" * 5000 + "ls" + ")" * 5000,
            "$(" * 3000 + "ls" + ")" * 3000,
            "eval '" * 300 + "ls" + "'" * 300,
            "sudo " * 3000 + "ls",
            ":(){ :|:& };:",
        ],
        ids=["long", "deep", "substitutions", "evals", "wrappers", "fork bomb"],
    )
    def test_what_cannot_be_read_is_asked_about(self, session, cmd):
        assert decision(session.judge(cmd)) == "ask"

    @pytest.mark.parametrize(
        "text",
        [
            "[x for x in range(100000000000)]",
            "def f(n):\n    return f(n + 1)\nf(0)",
            'load("other", "x")',
        ],
    )
    def test_rule_files_end(self, session, text, monkeypatch):
        monkeypatch.setattr("ferrule_rules.starlark_front.SECONDS", 0.2)
        session.rules(text)
        session.judge("make")
        assert len(session.warnings) == 1
