"""Edits of config.toml: what stays, what is refused, who may read it."""

import stat
import subprocess
import sys

import pytest

from ferrule.config.edit import ConfigFileEditor
from ferrule_hookspecs.errors import ConfigError

TEXT = """\
# my settings
model = "old"   # because

[tools.update_plan]  # plans
enabled = true
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "home" / "config.toml"


@pytest.fixture
def written(file):
    file.parent.mkdir()
    file.write_text(TEXT)
    return file


def test_a_change_touches_only_its_key(written):
    ConfigFileEditor(written).set(("model",), "new")
    assert written.read_text() == TEXT.replace('"old"', '"new"')


def test_a_top_level_key_goes_before_the_tables(written):
    import tomllib

    ConfigFileEditor(written).set(("review_model",), "r")
    assert tomllib.loads(written.read_text())["review_model"] == "r"
    assert "# because" in written.read_text()


def test_a_first_write_makes_a_private_home_and_file(file):
    ConfigFileEditor(file).set(("projects", "/a.b", "trust_level"), "trusted")
    assert file.read_text() == '[projects."/a.b"]\ntrust_level = "trusted"\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_unset_says_whether_there_was_something(written):
    editor = ConfigFileEditor(written)
    assert editor.unset(("tools", "update_plan", "enabled")) is True
    assert editor.unset(("tools", "update_plan", "enabled")) is False
    assert editor.unset(("nothing", "here")) is False
    assert "# my settings" in written.read_text()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("model",), 3, "must be a string"),
        (("modle",), "x", "did you mean `model`"),
        (("model", "inner"), "x", "holds a value, not a table"),
    ],
)
def test_what_would_break_the_file_is_refused_and_nothing_is_written(written, path, value, message):
    with pytest.raises(ConfigError, match=message):
        ConfigFileEditor(written).set(path, value)
    assert written.read_text() == TEXT


def test_unknown_keys_that_are_there_already_do_not_stand_in_the_way(written):
    written.write_text("from_the_future = 1\n")
    ConfigFileEditor(written).set(("model",), "m")
    assert written.read_text() == 'from_the_future = 1\nmodel = "m"\n'


def test_a_linked_file_stays_a_link(written, tmp_path):
    target = tmp_path / "dotfiles.toml"
    written.rename(target)
    written.symlink_to(target)
    ConfigFileEditor(written).set(("model",), "new")
    assert written.is_symlink()
    assert '"new"' in target.read_text()


def test_writers_at_the_same_time_lose_nothing(file):
    code = (
        "import sys; from pathlib import Path\n"
        "from ferrule.config.edit import ConfigFileEditor\n"
        "for n in range(5):\n"
        "    ConfigFileEditor(Path(sys.argv[1])).set(('features', f'{sys.argv[2]}{n}'), True)\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(file), name]) for name in "abc"]
    assert [run.wait(120) for run in runs] == [0, 0, 0]
    assert file.read_text().count("= true") == 15
    assert [p.name for p in file.parent.iterdir() if p.name.endswith(".tmp")] == []


@pytest.fixture
def without_tomlkit(monkeypatch):
    """As in a lean installation."""
    monkeypatch.setitem(sys.modules, "tomlkit", None)


TRUST = ("projects", "/a.b", "trust_level")


@pytest.mark.usefixtures("without_tomlkit")
def test_without_tomlkit_a_new_table_goes_to_the_end(written):
    ConfigFileEditor(written).set(TRUST, "trusted")

    assert written.read_text() == TEXT + '\n[projects."/a.b"]\ntrust_level = "trusted"\n'


@pytest.mark.usefixtures("without_tomlkit")
@pytest.mark.parametrize(
    ("text", "path"),
    [
        (TEXT, ("model",)),
        ('[projects."/a.b"]\ntrust_level = "untrusted"\n', TRUST),
        ('projects = { "/x" = { trust_level = "trusted" } }\n', TRUST),
    ],
    ids=["top", "table-is-there", "inline-table"],
)
def test_without_tomlkit_any_other_change_is_refused(written, text, path):
    written.write_text(text)

    with pytest.raises(ConfigError):
        ConfigFileEditor(written).set(path, "trusted")

    assert written.read_text() == text
