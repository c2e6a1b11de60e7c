"""Pictures of the documentation are drawings with words; nothing in them runs or is fetched."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
PICTURES = sorted((ROOT / "docs").glob("*.svg"))
MAY_STAND = {"svg", "title", "desc", "defs", "marker", "path", "rect", "g", "text"}


@pytest.fixture(params=PICTURES, ids=lambda path: path.name)
def drawing(request):
    return ElementTree.parse(request.param).getroot()


def test_a_picture_says_in_words_what_it_shows(drawing):
    named = drawing.get("aria-labelledby").split()
    told = {part.get("id"): part.text for part in drawing if part.get("id")}
    assert [name for name in named if not told.get(name)] == []


def test_nothing_in_a_picture_runs_or_is_fetched(drawing):
    kinds = {part.tag.removeprefix(SVG) for part in drawing.iter()}
    assert kinds <= MAY_STAND
    assert [k for part in drawing.iter() for k in part.attrib if "href" in k or k[:2] == "on"] == []


def test_everything_lies_within_the_picture(drawing):
    width, height = map(float, drawing.get("viewBox").split()[2:])
    for part in drawing.iter():
        x, y = float(part.get("x", 0)), float(part.get("y", 0))
        right, below = float(part.get("width", 0)), float(part.get("height", 0))
        assert 0 <= x <= x + right <= width, part.attrib
        assert 0 <= y <= y + below <= height, part.attrib


def test_every_picture_stands_on_a_page_with_words_in_its_place():
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")]
    for picture in PICTURES:
        shown = [re.findall(rf"!\[(.+?)\]\({picture.name}\)", page) for page in pages]
        assert any(shown), picture


def test_the_parts_of_the_kernel_that_are_drawn_are_modules_of_it():
    text = "".join(ElementTree.parse(ROOT / "docs/architecture.svg").getroot().itertext())
    for name in (
        "session",
        "turn",
        "sampling",
        "orchestrator",
        "recorder",
        "manager",
        "dispatcher",
    ):
        assert name in text
        assert (ROOT / f"core/src/ferrule/{name}.py").exists(), name
