"""`ferrule help`: pages that do not go stale, and a way on from a wrong word."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_manual.topics import plain, topics

ROOT = Path(__file__).parents[3]
PAGES = topics()
COMMANDS_WITH_PAGES = ("config", "doctor", "exec", "import", "models", "plugins", "sandbox")
_VARIABLE = re.compile(r"\b(?:FERRULE|CODEX)_[A-Z_]+\b")
_OPTION = re.compile(r"`(--?[a-zA-Z][\w-]*)")
_OURS = {"FERRULE_ORDER", "FERRULE_RELOADABLE"}
"""Names that look like variables and are none."""


@pytest.mark.parametrize("name", [*PAGES, ""])
def test_a_page_is_plain_text_in_a_pipe(run_ferrule, name):
    shown = run_ferrule("help", *filter(None, [name]))

    assert (shown.returncode, shown.stderr) == (0, "")
    assert name in shown.stdout
    assert not re.search(r"`\w+`|^```|\x1b", shown.stdout.replace("`ferrule help TOPIC`", ""))
    assert max(map(len, shown.stdout.splitlines())) <= 110


def test_every_topic_is_listed_with_what_it_is_about(run_ferrule):
    shown = run_ferrule("help").stdout

    for page in PAGES.values():
        assert re.search(rf"^  {page.name} +{re.escape(page.summary)}$", shown, re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_short_and_lead_to_pages_that_exist(name):
    text = plain(PAGES[name])

    assert text.count("\n") <= 60
    assert set(re.findall(r"ferrule help ([\w-]+)", text)) <= set(PAGES)


def test_the_name_of_a_command_without_a_page_shows_its_own_help(run_ferrule):
    assert run_ferrule("help", "threads").stdout == run_ferrule("threads", "--help").stdout
    listed = run_ferrule("help", "threads", "list")
    assert "--search" in listed.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [(["sandbx"], "did you mean 'sandbox'?"), (["zzzz"], "lists the topics"), (["--al"], "--al")],
    ids=["near", "far", "option"],
)
def test_what_there_is_no_help_about_is_wrong_usage(run_ferrule, words, told):
    shown = run_ferrule("help", *words)

    assert (shown.returncode, shown.stdout) == (2, "")
    assert told in shown.stderr


@pytest.mark.parametrize("name", COMMANDS_WITH_PAGES)
def test_options_on_a_page_are_options_of_a_command(run_ferrule, name):
    words = {"import": ["import", "codex"], "models": ["models", "list"]}.get(name, [name])
    texts = [run_ferrule(*words, "--help").stdout, run_ferrule("exec", "--help").stdout]
    known = "".join([*texts, run_ferrule("--help").stdout])

    for option in _OPTION.findall(PAGES[name].text):
        assert re.search(rf"(?<![\w-]){option}\b", known), option


def test_the_page_about_variables_names_all_of_them_and_no_other():
    folders = ("core", "plugins", "sandboxes", "reviewers")
    sources = [file for folder in folders for file in (ROOT / folder).glob("**/src/**/*.py")]
    used = {name for file in sources for name in _VARIABLE.findall(file.read_text("utf-8"))}
    ours = {name for name in used - _OURS if name.startswith("FERRULE_")}

    told = set(_VARIABLE.findall(PAGES["environment"].text))

    assert {name for name in told if name.startswith("FERRULE_")} == ours
    assert told <= used


def test_keys_on_the_pages_are_keys_of_the_configuration(run_ferrule):
    schema = run_ferrule("config", "schema").stdout
    named = ("approval_policy", "approvals_reviewer", "model_provider", "oss_provider")
    named += ("sandbox_backend", "sandbox_accept_gaps", "sandbox_mode", "model_catalog_json")
    named += ("shell_environment_policy", "network_access", "wire_api", "env_key")
    shown = "".join(page.text for page in PAGES.values())

    for key in named:
        assert key in shown
        assert f'"{key}"' in schema


def test_on_a_terminal_the_pager_shows_the_page(ferrule_home, tmp_path):
    pty = pytest.importorskip("pty")
    seen = tmp_path / "seen"
    environ = ferrule_home.environ | {"PAGER": f"cat > {seen}", "TERM": "xterm"}
    ours, theirs = pty.openpty()
    command = ferrule_home.command(["help", "exec"])

    done = subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)

    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0
    assert seen.read_text() == plain(PAGES["exec"])


def test_the_reader_may_go_away(ferrule_home):
    command = f"{ferrule_home.command(['help', 'exec'])[0]} help exec | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=ferrule_home.environ
    )

    assert done.stderr == ""
    assert done.stdout.startswith("exec:")


def test_the_list_of_commands_imports_no_page():
    code = "import sys, ferrule_manual.command; print('ferrule_manual.topics' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert shown.stdout == "False\n"
