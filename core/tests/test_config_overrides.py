"""How `-c key=value` texts are read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.config.overrides import flag_layer, override_layers
from ferrule.config.tables import join_key, split_key
from ferrule_hookspecs.errors import ConfigError


def read(text):
    (layer,) = override_layers([text], Path("/work"))
    return layer.values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("model=o3", {"model": "o3"}),
        ("model=a b", {"model": "a b"}),
        ("model=x=y", {"model": "x=y"}),
        ('model="quoted"', {"model": "quoted"}),
        ("model= spaced ", {"model": "spaced"}),
        ("model=", {"model": ""}),
        ("n=3", {"n": 3}),
        ("a.b.c=true", {"a": {"b": {"c": True}}}),
        (" a . b = 1", {"a": {"b": 1}}),
        ('l=["a","b"]', {"l": ["a", "b"]}),
        ("t={a=1}", {"t": {"a": 1}}),
        (
            'projects."/a.b".trust_level="trusted"',
            {"projects": {"/a.b": {"trust_level": "trusted"}}},
        ),
        ("projects.'/a=b'.x=1", {"projects": {"/a=b": {"x": 1}}}),
        (r'p."a\"b".x=1', {"p": {'a"b': {"x": 1}}}),
        ("m.a/b.x=1", {"m": {"a/b": {"x": 1}}}),
        ("v=1\nmodel=2", {"v": "1\nmodel=2"}),
    ],
)
def test_keys_and_values(text, values):
    assert read(text) == values


@pytest.mark.parametrize("text", ["", "model", "=x", ".a=1", 'a."b=1', "a..b=1"])
def test_what_is_no_assignment_is_an_error_that_shows_it(text):
    with pytest.raises(ConfigError, match="write it as `-c key=value`") as caught:
        read(text)
    assert str(caught.value).startswith(f"-c {text}:")


@pytest.mark.parametrize("key", ["", "a..b", "model=x"])
def test_a_flag_for_what_is_no_key_is_an_error_that_shows_it(key):
    with pytest.raises(ConfigError, match="is not a key") as caught:
        flag_layer({key: 1}, Path("/"))
    assert str(caught.value).startswith(repr(key))


@given(st.lists(st.text(st.characters(exclude_categories=["C"]), min_size=1), min_size=1))
def test_a_written_key_is_read_back(path):
    assert split_key(join_key(path)) == (tuple(path), None)
