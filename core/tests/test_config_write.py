"""Changes of the user's file that clients ask for: all or none, never beyond what is allowed."""

from __future__ import annotations

import tomllib

import pytest

from ferrule.config.load import Places, read_config
from ferrule.config.write import write_config
from ferrule_hookspecs.errors import ConfigConflictError, ConfigError
from ferrule_hookspecs.host import ConfigEdit, ConfigRequest

TEXT = '# mine\nmodel = "old"  # because\n\n[features]\na = true\n'


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").write_text(TEXT)
    return folder


@pytest.fixture
def write(home, tmp_path):
    (tmp_path / "etc").mkdir()
    places = Places(home, {"HOME": str(tmp_path)}, tmp_path / "etc")

    def call(*edits: ConfigEdit, **options: str):
        def read(before, after):
            return read_config(ConfigRequest(str(tmp_path)), places._replace(user_text=after))

        return write_config(home / "config.toml", edits, read, **options)

    return call


def test_the_new_configuration_comes_back_and_comments_stay(write, home):
    config = write(ConfigEdit("model", "new"), ConfigEdit("features.b", value=False))
    assert config.get("model") == "new"
    assert (home / "config.toml").read_text() == TEXT.replace('"old"', '"new"') + "b = false\n"


def test_the_version_is_that_of_the_file_as_it_is_read_next(write, home):
    config = write(ConfigEdit("model", "new"))
    [user] = [layer for layer in config.layers if layer.name == "user"]
    write(ConfigEdit("model", "newer"), expected_version=user.version)
    with pytest.raises(ConfigConflictError, match="changed since it was read"):
        write(ConfigEdit("model", "newest"), expected_version=user.version)
    assert tomllib.loads((home / "config.toml").read_text())["model"] == "newer"


def test_one_wrong_edit_leaves_everything_as_it_is(write, home):
    with pytest.raises(ConfigError, match="model"):
        write(ConfigEdit("review_model", "r"), ConfigEdit("model", 5))
    assert (home / "config.toml").read_text() == TEXT


def test_a_table_is_mixed_in_or_put_in_the_place_of_the_old(write, home):
    write(ConfigEdit("features", {"b": True}, merge=True))
    assert tomllib.loads((home / "config.toml").read_text())["features"] == {"a": True, "b": True}
    write(ConfigEdit("features", {"c": True}))
    assert tomllib.loads((home / "config.toml").read_text())["features"] == {"c": True}


def test_nothing_takes_a_key_out(write, home):
    write(ConfigEdit("model", None), ConfigEdit("review_model", None))
    assert tomllib.loads((home / "config.toml").read_text()) == {"features": {"a": True}}


def test_what_the_administrator_does_not_allow_is_not_written(write, home, tmp_path):
    (tmp_path / "etc" / "requirements.toml").write_text('allowed_sandbox_modes = ["read-only"]\n')
    with pytest.raises(ConfigError, match="the administrator allows only read-only"):
        write(ConfigEdit("sandbox_mode", "danger-full-access"))
    assert (home / "config.toml").read_text() == TEXT
