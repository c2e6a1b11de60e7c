"""The documentation as a site: built by a static generator, without a dead link."""

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[3]


def build(root, out):
    return subprocess.run(
        [sys.executable, root / "docs/site/build.py", out],
        capture_output=True,
        text=True,
        check=False,
    )


class Links(HTMLParser):
    """What a page links to inside of the site, and what it can be linked at."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.anchors = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values["id"]} if values.get("id") else set()
        link = values.get("href") if tag == "a" else values.get("src")
        if link and not urlsplit(link).scheme:
            self.links.append(link)


@pytest.mark.slow
def test_the_site_builds_with_every_page_and_every_link_leads_somewhere(tmp_path):
    built = build(ROOT, tmp_path)
    assert built.returncode == 0, built.stderr

    pages = {page: Links(page.read_text("utf-8")) for page in tmp_path.rglob("*.html")}
    sources = [path.stem for path in (ROOT / "docs").glob("*.md")]
    assert [stem for stem in sources if tmp_path / f"docs/{stem}.html" not in pages] == []
    dead = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchors = pages[target].anchors if target in pages else set()
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                dead.append(f"{page.relative_to(tmp_path)}: {link}")
    assert dead == []


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nothing.md", "skills.md#nowhere", "../core/nothing.py"])
def test_a_dead_link_ends_the_build_with_its_page_and_line(tmp_path, link):
    for name in ("docs/site/build.py", "docs/site/conf.py", "docs/skills.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docs/README.md").write_text(f"# Home\n\n[here]({link})\n")

    built = build(tmp_path, tmp_path / "out")

    assert built.returncode != 0
    assert "docs/README.md:3: WARNING" in built.stderr
