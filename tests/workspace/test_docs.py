"""What the documentation says exists: links, commands with their options, and code that parses."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from ferrule_testkit.fenced_blocks import FENCED, blocks_of

ROOT = Path(__file__).parents[2]
_ELSEWHERE = {".venv", "node_modules", ".git", ".pytest_cache", ".hypothesis", ".ruff_cache"}
PAGES = sorted(
    path for path in ROOT.rglob("*.md") if not _ELSEWHERE & set(path.relative_to(ROOT).parts)
)
PACKAGES = ROOT / "tests/e2e/packages"
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


@dataclass(frozen=True)
class Line:
    """A command line of a page."""

    page: Path
    text: str

    @property
    def name(self):
        return f"{self.page}: {self.text[:60]}"


def blocks(*languages):
    return [
        block for page in PAGES for block in blocks_of(page, ROOT) if block.language in languages
    ]


def command_lines():
    """Every line that calls ferrule: behind a prompt, or a whole line of an sh block."""
    for block in blocks("console", "sh"):
        for line in block.text.splitlines():
            text = line.removeprefix("$ ").removeprefix(".ci/start ")
            is_command = line.startswith("$ ") or block.language == "sh"
            if is_command and text.startswith("ferrule "):
                yield Line(block.page, text)


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(page):
    text = FENCED.sub("", page.read_text("utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    dead = []
    for link in _LINK.findall(FENCED.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)

    assert dead == []


@pytest.fixture(scope="module")
def help_of(tmp_path_factory):
    """Ask the program itself what a command knows; once per command."""
    home = tmp_path_factory.mktemp("home")

    @cache
    def ask(*command):
        return subprocess.run(
            [sys.executable, "-m", "ferrule", *command, "--help"],
            capture_output=True,
            text=True,
            env=os.environ | {"FERRULE_HOME": str(home), "COLUMNS": "200"},
            check=False,
        )

    return ask


def words_of(line):
    """The words of a command up to the first pipe, redirection or list operator."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("|&;<>()"):
            break
        words.append(word)
    return words


def sub_commands(help_text):
    listed = help_text.partition("Commands:")[2].partition("\n\n")[0]
    actions = help_text.partition("\n  ACTION\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\S+)", listed, re.MULTILINE) or re.findall(
        r"^ {4}(\S+)", actions, re.MULTILINE
    )


def words_beside_programs(help_text):
    """The words that `ferrule sandbox` knows where the program's name would stand."""
    return re.findall(r"^  (\S+)", help_text.partition("\ninstead of a command")[2], re.MULTILINE)


def takes_value(option, help_text):
    """Whether a metavar follows the option in the list of options."""
    return re.search(rf"(?m)^ .*(?<![\w-]){re.escape(option)} [A-Z<]", help_text) is not None


@pytest.mark.parametrize("line", list(command_lines()), ids=lambda line: line.name)
def test_command_lines_name_what_exists(line, help_of):
    words = words_of(line.text)[1:]
    command, help_text = [], help_of().stdout
    known, groups = set(_OPTION.findall(help_text)), sub_commands(help_text)
    while words and words[0] != "--":
        word = words.pop(0)
        if word.startswith("-") and len(word) > 1:
            option = word.partition("=")[0]
            assert option in known, f"ferrule {' '.join(command)} has no option {option}"
            if groups and "=" not in word and takes_value(option, help_text):
                words.pop(0)
        elif groups or word in words_beside_programs(help_text):
            groups = groups or words_beside_programs(help_text)
            assert word in groups, f"ferrule {' '.join(command)} has no command {word}"
            command.append(word)
            answer = help_of(*command)
            assert answer.returncode == 0, answer.stderr
            help_text = answer.stdout
            known |= set(_OPTION.findall(help_text))
            groups = sub_commands(help_text)


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.place)
def test_python_parses(block):
    ast.parse(dedent(block.text))  # excerpts of classes are indented


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: block.place)
def test_toml_parses(block):
    tomllib.loads(block.text)


def test_examples_are_those_that_are_tested():
    """What a page marks as an excerpt of a file stands in that file, word by word."""
    found = [
        (block, path)
        for page in PAGES
        for block in blocks_of(page, ROOT)
        if (path := block.mark("excerpt"))
    ]

    assert found
    for block, path in found:
        assert block.text.strip() in (ROOT / path).read_text("utf-8"), f"{block.place}: {path}"


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_differences_are_current():
    page = (ROOT / "docs/differences.md").read_text("utf-8")

    assert page == generator().differences_page(), "run: python docs/generate.py differences"


@pytest.mark.parametrize(
    "fragment", sorted((ROOT / "docs/changelog.d").glob("*.md")), ids=lambda path: path.name
)
def test_changelog_fragments_will_be_found(fragment):
    """A file with an unknown type is silently left out of the release notes."""
    kind = fragment.name.removesuffix(".md").rpartition(".")[2]

    assert kind in {"feature", "bugfix", "doc", "removal", "misc"}
    assert "ferrule-" in fragment.read_text("utf-8"), "it names no distribution"
