"""Files that the documentation shows are read by what reads them for users, without a complaint."""

import json
import tomllib

import pytest

from ferrule.config.load import Places, read_config
from ferrule_hookspecs.host import ConfigRequest


def test_a_block_that_is_not_run_says_why(all_blocks, reasons):
    told = [(block.place, reason) for block in all_blocks for reason in block.reasons]
    assert [(place, reason) for place, reason in told if reason not in reasons] == []


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
