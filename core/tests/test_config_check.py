"""What is refused, what is only warned about, and how the place is named."""

import os
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ferrule.config.check import find_problems
from ferrule.config.load import Places, read_config
from ferrule.config.model import ConfigFile
from ferrule.config.positions import find_key
from ferrule.config.schema import config_schema
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigRequest

GRANULAR = """\
[approval_policy.granular]
sandbox_approval = true
rules = false
mcp_elicitations = false
"""


@pytest.fixture
def load(tmp_path):
    home = tmp_path / "home"
    home.mkdir()

    def load(text="", **options):
        (home / "config.toml").write_text(text)
        request = ConfigRequest(cwd=str(tmp_path), **options)
        return read_config(request, Places(home, {}, tmp_path / "etc"))

    load.file = home / "config.toml"
    return load


def test_an_unknown_key_is_one_warning_with_its_place_and_a_guess(load):
    config = load('\nmodle = "x"\n')
    assert config.get("modle") is None
    assert list(config.warnings) == [
        f"{load.file}:2:1: unknown configuration key `modle` is ignored; did you mean `model`?"
    ]


def test_strict_makes_it_an_error_that_shows_the_line(load):
    with pytest.raises(ConfigError) as caught:
        load("# one\nbogus_key = 1\n", strict=True)
    assert str(caught.value) == (
        f"{load.file}:2:1: unknown configuration key `bogus_key`\n"
        "  |\n2 | bogus_key = 1\n  | ^^^^^^^^^"
    )


def test_strict_looks_into_tables_and_into_options(load):
    with pytest.raises(ConfigError, match=r":2:1: .*`model_providers.x.base_ur`.*base_url"):
        load('[model_providers.x]\nbase_ur = "http://x"\n', strict=True)
    with pytest.raises(ConfigError, match=r"^-c modle=1: unknown configuration key `modle`"):
        load(overrides=["modle=1"], strict=True)


def test_bad_toml_names_line_and_column_and_shows_the_line(load):
    with pytest.raises(ConfigError) as caught:
        load("# one\nmodel = = 3\n")
    assert str(caught.value).startswith(f"{load.file}:2:9: ")
    assert str(caught.value).endswith("2 | model = = 3\n  |         ^")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('model_context_window = "abc"', 'must be an integer not below 0, not the string "abc"'),
        ("model_context_window = -1", "must be an integer not below 0, not the integer -1"),
        ("model_context_window = true", "must be an integer not below 0, not `true`"),
        ("model = 3", "`model` must be a string, not the integer 3"),
        ('sandbox_mode = "nope"', "must be one of `read-only`, `workspace-write`"),
        ('approval_policy = "nope"', "must be one of `untrusted`, .* or a table"),
        ("approval_policy = { granular = { rules = 1 } }", "granular.rules` must be true or false"),
        ("approval_policy = { granular = { rules = true } }", "lacks the key `mcp_elicitations`"),
        ('notify = "x"', "`notify` must be a list of strings"),
        ("notify = [1]", r"`notify\.0` must be a string"),
        ("features = { a = 1 }", r"`features\.a` must be true or false"),
        ("tools = { x = { enabled = 1 } }", r"`tools\.x\.enabled` must be true or false"),
        ("model_providers = { x = { query_params = { a = 1 } } }", r"query_params\.a` must be"),
    ],
)
def test_a_wrong_value_is_an_error_even_when_not_strict(load, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(text)
    assert str(caught.value).startswith(f"{load.file}:1:")


@pytest.mark.parametrize(
    "text",
    [
        'approval_policy = "untrusted"',
        'approval_policy = "on-failure"',
        GRANULAR,
        'model_providers = { x = { wire_api = "anything", settings = { mine = 1 } } }',
        "tools = { mine = { enabled = true, size = 3 }, other = false }",
        'plugins = { allow = ["ferrule-shell", { name = "x", version = "1" }] }',
        'mcp_servers = { d = { command = "x", env_vars = ["A", { name = "B" }] } }',
        "agents = { max_threads = 2, helper = { description = 'x' } }",
        'sandboxes = { bubblewrap = { path = "/x" } }',
        'web_search = "live"',
    ],
)
def test_accepted_forms(load, text):
    assert list(load(text, strict=True).warnings) == []


def test_options_name_their_text(load):
    with pytest.raises(ConfigError, match=r"^-c model=3: `model` must be a string, not the int"):
        load(overrides=["model=3"])
    with pytest.raises(ConfigError, match=r"^command-line flag: `sandbox_mode` must be one of"):
        load(flags={"sandbox_mode": "nope"})


# Numbers begin at 1: pydantic knows nothing of the least number that a key takes.
_VALUES = st.recursive(
    st.booleans()
    | st.integers(1, 9)
    | st.floats(0, 1)
    | st.sampled_from(["", "never", "read-only", "trusted", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["enabled", "granular", "rules", "set", "name", "x", "command"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


def _adapter() -> TypeAdapter:
    config_schema()  # closes the tables, as the JSON Schema does
    return TypeAdapter(ConfigFile)


_ADAPTER = _adapter()


@given(st.dictionaries(st.sampled_from([*ConfigFile.__annotations__, "bogus"]), _VALUES))
def test_the_light_check_agrees_with_pydantic(values):
    try:
        _ADAPTER.validate_python(values, strict=True)
        is_valid = True
    except ValidationError:
        is_valid = False
    assert is_valid == (not list(find_problems(values, ConfigFile)))


@pytest.mark.parametrize(
    ("target", "make", "name"),
    [
        ("schema", "schema_text", "config.schema.json"),
        ("config", "config_keys_page", "config-keys.md"),
    ],
)
def test_generated_pages_are_current(target, make, name):
    docs = Path(__file__).parents[2] / "docs"
    generator = runpy.run_path(str(docs / "generate.py"))
    assert (docs / name).read_text() == generator[make](), f"run: docs/generate.py {target}"


def test_every_key_of_the_schema_says_what_it_is():
    properties = config_schema()["properties"]
    assert [key for key, facts in properties.items() if not facts.get("description")] == []


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ("a = 1\nb = 2\n", ("b",), (2, 1, 1)),
        ('[t."x.y"]\n  k = 1', ("t", "x.y", "k"), (2, 3, 1)),
        ('s = """\nk = 1\n"""\nk = 2', ("k",), (4, 1, 1)),
        ("t = { a = 1, b = { c = 2 } }", ("t", "b", "c"), (1, 20, 1)),
        ("l = [\n  1,\n  { k = 1 }, # } ]\n]\nz = 1", ("z",), (5, 1, 1)),
        ("l = [{ a = 1 }, { k = 1 }]", ("l", "1", "k"), (1, 19, 1)),
        ("[[h]]\na = 1\n[[h]]\na = 2", ("h", "1", "a"), (4, 1, 1)),
        ("[[h]]\n[h.x]\nb = 2", ("h", "0", "x", "b"), (3, 1, 1)),
        ("a.b.c = 1", ("a", "b", "c"), (1, 1, 5)),
        ("'q r' = 1.5\nd = 1979-05-27\ne = 1", ("e",), (3, 1, 1)),
        ("[t]\na = 1", ("t", "missing"), (1, 2, 1)),
    ],
)
def test_keys_are_found_in_the_text(text, path, place):
    position = find_key(text, path)
    assert (position.line, position.column, position.length) == place


def test_the_hot_path_imports_no_heavy_library(load):
    import subprocess
    import sys

    code = (
        "import sys, os\n"
        "from ferrule.config import load_config\n"
        "from pathlib import Path\n"
        "from ferrule_hookspecs.host import ConfigRequest\n"
        "load_config(ConfigRequest(cwd=os.getcwd(), overrides=['model=x']),"
        " home=Path('/nowhere'), environ={})\n"
        "heavy = {'pydantic', 'tomlkit', 'typer', 'anyio', 'httpx', 'importlib.metadata'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
