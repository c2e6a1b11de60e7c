"""The pages of the manual: which there are, and how they look on a screen.

Pages are Markdown files of the package. They keep to what reads well as plain text: headings,
paragraphs, lists and fenced blocks.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final, NamedTuple

_TITLE: Final = re.compile(r"# (?P<name>\S+): (?P<summary>.+)")
_HEADING: Final = re.compile(r"#+ (.*)")


class Topic(NamedTuple):
    """One page: its name, what it is about in half a sentence, and its Markdown."""

    name: str
    summary: str
    text: str


def topics() -> dict[str, Topic]:
    """Read all pages, by name."""
    pages = files("ferrule_manual") / "pages"
    found = [_topic(page.read_text("utf-8")) for page in pages.iterdir() if page.is_file()]
    return {topic.name: topic for topic in sorted(found)}


def _topic(text: str) -> Topic:
    title, _, body = text.partition("\n")
    match = _TITLE.fullmatch(title)
    if match is None:
        raise ValueError(f"a page must begin with `# NAME: SUMMARY`, not with {title!r}")
    return Topic(match["name"], match["summary"], body.strip())


def plain(topic: Topic) -> str:
    """Turn a page into plain text."""
    lines = [f"{topic.name}: {topic.summary}", ""]
    is_block = False
    for line in topic.text.splitlines():
        if line.startswith("```"):
            is_block = not is_block
        elif is_block:
            lines.append(f"    {line}".rstrip())
        elif heading := _HEADING.fullmatch(line):
            lines.append(heading[1].upper())
        else:
            lines.append(line.replace("`", ""))
    return "\n".join(lines) + "\n"
