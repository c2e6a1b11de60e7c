"""Files that the documentation shows are read by what reads them for users, without a complaint."""

import json
import shutil
import subprocess
import tomllib

import pytest

from ferrule.config.load import Places, read_config
from ferrule_hookspecs.host import ConfigRequest


def test_a_block_that_is_not_run_says_why(all_blocks, reasons):
    told = [(block.place, each) for block in all_blocks for each in block.all_marks("not run")]
    assert [(place, each) for place, each in told if each.partition(" (")[0] not in reasons] == []


def test_every_block_is_of_a_kind_that_is_checked(all_blocks):
    kinds = {"python", "toml", "json", "js", "console", "sh", "text"}
    others = [block for block in all_blocks if block.language not in kinds]
    assert [b.place for b in others if not (b.mark("excerpt") or b.mark("file"))] == []


def test_a_shell_block_shows_commands_and_text_does_not(all_blocks):
    shown = [block for block in all_blocks if block.language == "console"]
    assert [b.place for b in shown if not b.text.startswith(("$ ", "…"))] == []
    # The commands of the gallery's plugins are there only where these are installed.
    texts = [b for b in all_blocks if b.language == "text" and "gallery" not in b.place]
    assert [b.place for b in texts if b.text.startswith(("$ ", "ferrule "))] == []


@pytest.fixture
def places(tmp_path):
    home, admin, project = tmp_path / "home", tmp_path / "etc", tmp_path / "project"
    for folder in (home, admin, project / ".git"):
        folder.mkdir(parents=True)
    return Places(home, {"HOME": str(tmp_path)}, admin)


def read_as_config(text, places):
    (places.home / "config.toml").write_text(text)
    return read_config(ConfigRequest(cwd=str(places.home.parent / "project")), places)


def read_as_requirements(text, places):
    (places.admin / "requirements.toml").write_text(text)
    return read_config(ConfigRequest(cwd=str(places.home.parent / "project")), places)


def test_a_table_is_what_its_reader_takes(toml_block, places):
    kind = toml_block.mark("as") or "config.toml"
    if kind == "config.toml":
        assert list(read_as_config(toml_block.text, places).warnings) == []
    elif kind == "requirements.toml":
        assert list(read_as_requirements(toml_block.text, places).warnings) == []
    else:
        assert kind in ("pyproject.toml", "ferrule.toml", "policy test"), kind
        assert tomllib.loads(toml_block.text)


def test_what_is_json_can_be_read(json_block):
    text = json_block.text
    lines = text.splitlines() if json_block.mark("as") == "lines" else [text]
    assert [type(json.loads(line)) for line in lines] == [dict] * len(lines)


def test_what_a_page_of_the_web_would_run_can_be_parsed(all_blocks, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    for number, block in enumerate(block for block in all_blocks if block.language == "js"):
        script = tmp_path / f"{number}.js"
        script.write_text(block.text)
        checked = subprocess.run(
            [node, "--check", script], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, f"{block.place}: {checked.stderr}"
