"""What `ferrule plugins add`, `remove` and `sync` understand, tell installers, and write down.

The real installers are tried in tests/e2e/requirements/test_r20_*.py.
"""

from __future__ import annotations

import sys
import sysconfig

import pytest

from ferrule.installation import changes
from ferrule.installation.conflict import conflict_in_words
from ferrule.installation.environment import Environment, find_environment
from ferrule.installation.receipt import tool_command
from ferrule.installation.requirement import wanted_checkout, wanted_of
from ferrule.installation.shell import Place, Shell
from ferrule.installation.wanted import Sources, Wanted, change_wanted, read_wanted, wanted_file
from ferrule_hookspecs.errors import PluginError

TICKET = Wanted("acme-ticket", "acme-ticket>=1")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("acme_ticket", "acme-ticket"),
        ("acme.ticket>=1,<2", "acme-ticket"),
        ("Acme-Ticket[fast] ~= 1.0", "acme-ticket"),
        ("acme-ticket @ git+https://git.example/ticket@v1", "acme-ticket"),
    ],
)
def test_a_requirement_is_kept_as_it_was_typed(typed, name):
    assert wanted_of(typed) == Wanted(name, typed)


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ("--index-url=https://evil.example", "is no requirement"),
        ("-e", "is no requirement"),
        ("a b", "is no requirement"),
        ("https://packages.example/acme.zip", "NAME @ URL"),
        ("ferrule-core==9", "is Ferrule itself"),
        ("./absent-1.0-py3-none-any.whl", "there is no wheel"),
        ("./absent/", "is no project"),
    ],
)
def test_what_is_no_requirement_is_refused(typed, fault):
    with pytest.raises(PluginError, match=fault):
        wanted_of(typed)


def test_what_lies_on_this_machine_gets_an_absolute_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acme_ticket-1.0-py3-none-any.whl").touch()
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "pyproject.toml").write_text('[project]\nname = "Acme_Ticket"\n')
    wheel = wanted_of("acme_ticket-1.0-py3-none-any.whl")
    assert (
        wheel.requirement == f"acme-ticket @ {tmp_path.as_uri()}/acme_ticket-1.0-py3-none-any.whl"
    )
    assert wanted_of("./acme").requirement == f"acme-ticket @ {tmp_path.as_uri()}/acme"
    assert wanted_checkout("acme") == Wanted("acme-ticket", str(tmp_path / "acme"), editable=True)


def test_the_wanted_set_is_read_as_it_was_written(tmp_path):
    items = [
        TICKET._replace(sources=Sources("https://a.example/simple", ("/w", "/x"), no_index=True)),
        Wanted("zeta", '/odd/"folder"/ü', editable=True),
    ]
    change_wanted(tmp_path, lambda before: items)
    assert read_wanted(tmp_path) == items


@pytest.mark.parametrize("text", ["[", "plugin = 1", "[[plugin]]", "[[plugin]]\nname = 'a'"])
def test_a_wanted_set_that_cannot_be_read_is_never_overwritten(tmp_path, text):
    file = wanted_file(tmp_path)
    file.write_text(text)
    with pytest.raises(PluginError, match=f"{file} says which plugins are wanted"):
        change_wanted(tmp_path, lambda before: [TICKET])
    assert file.read_text() == text


RECEIPT = {
    "requirements": [
        {"name": "ferrule-core", "extras": ["lean"], "specifier": ">=0.1"},
        {"name": "acme-hooks", "path": "/w/acme_hooks-1.0-py3-none-any.whl"},
        {"name": "acme-box", "editable": "/src/box"},
    ],
    "python": "3.12",
    "options": {
        "find-links": ["file:///w"],
        "index": [{"url": "https://a.example/simple", "default": True}],
        "no-index": False,
        "prerelease": "allow",
    },
}


def test_uv_tool_is_told_again_all_that_it_was_told_before():
    place = Environment("uv tool", ("uv",), (), "ferrule-core", RECEIPT)
    before = [
        *("uv", "tool", "install", "--python", "3.12", "--find-links", "file:///w"),
        *("--default-index", "https://a.example/simple", "--prerelease", "allow"),
    ]
    main, box = "ferrule-core[lean]>=0.1", ("--with-editable", "/src/box")
    hooks = ("--with", "acme-hooks @ file:///w/acme_hooks-1.0-py3-none-any.whl")
    assert tool_command(place, [TICKET], Sources(no_index=True)) == [
        *(*before, "--no-index", main, *hooks, *box, "--with", "acme-ticket>=1")
    ]
    assert tool_command(place, (), Sources(), without=["acme-hooks"]) == [*before, main, *box]


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"config-setting": {"a": "b"}}},
        {"requirements": [{"name": "ferrule-core", "marker": "x"}]},
        {"requirements": []},
    ],
)
def test_a_receipt_that_cannot_be_told_again_is_refused(change):
    place = Environment("uv tool", ("uv",), (), "ferrule-core", {**RECEIPT, **change})
    with pytest.raises(PluginError):
        tool_command(place, [TICKET], Sources())


def test_an_environment_of_the_operating_system_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sysconfig, "get_path", lambda name, *_: str(tmp_path))
    with pytest.raises(PluginError, match="belongs to the operating system"):
        find_environment()


PIP = """ERROR: Cannot install acme-new==2.0 because these package versions have conflicts.
The conflict is caused by:
    acme-new 2.0 depends on ferrule-hookspecs{wish}
    The user requested (constraint) ferrule-hookspecs==1.5"""
UV = """cause: Because all versions of acme-new depend on ferrule-hookspecs{wish} and
  ferrule-hookspecs==1.5, we can conclude that all versions of acme-new cannot be used."""


@pytest.mark.parametrize("told", [PIP, UV], ids=["pip", "uv"])
@pytest.mark.parametrize(
    ("wish", "side"),
    [
        (">=2", "upgrade Ferrule"),
        ("<1 and >=0.3", "newer acme-new"),
        (">=0.3,<1", "newer acme-new"),
    ],
)
def test_a_conflict_says_which_side_to_upgrade(told, wish, side):
    words = conflict_in_words(told.format(wish=wish), {"ferrule-hookspecs": "1.5"})
    assert "installed is 1.5" in words
    assert side in words


def test_an_error_that_is_none_of_ours_is_not_explained():
    assert conflict_in_words("ERROR: No matching distribution found for acme", {"a": "1"}) == ""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home, with an installer that always fails."""
    program = (sys.executable, "-c", "raise SystemExit('no such luck')")
    environment = Environment("pip", program, ())
    monkeypatch.setattr(changes, "find_environment", lambda: environment)
    monkeypatch.setattr(changes, "installed_versions", lambda: {"acme-old": "1.0"})
    return Place(tmp_path, {}, lambda line: None)


def test_what_could_not_be_installed_is_not_wanted(place):
    with pytest.raises(PluginError, match=r"no such luck(?s:.*)everything is as it was"):
        changes.add(place, [TICKET])
    assert not wanted_file(place.home).exists()


def test_what_could_not_be_removed_is_wanted_as_before(place):
    old = Wanted("acme-old", "acme-old")
    change_wanted(place.home, lambda before: [old])
    with pytest.raises(PluginError, match="no such luck"):
        changes.remove(place, ["acme-old"])
    assert read_wanted(place.home) == [old]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (
            "acme-ticket @ https://user:hunter2@h.example/x.whl",
            "acme-ticket @ https://h.example/x.whl",
        ),
        (
            "acme-ticket @ git+https://hunter2@h.example/x@v1",
            "acme-ticket @ git+https://h.example/x@v1",
        ),
        (
            "acme-ticket @ git+ssh://git@h.example/x@v1",
            "acme-ticket @ git+ssh://git@h.example/x@v1",
        ),
    ],
)
def test_passwords_of_a_requirement_are_neither_shown_nor_kept(place, monkeypatch, given, kept):
    monkeypatch.setattr(
        changes, "find_environment", lambda: Environment("pip", (sys.executable, "-c", ""), ())
    )
    told: list[str] = []
    sources = Sources(find_links=("https://user:hunter2@h.example/wheels",))
    changes.add(place._replace(tell=told.append), [wanted_of(given, sources)])
    (item,) = read_wanted(place.home)
    assert (item.requirement, item.sources.find_links) == (kept, ("https://h.example/wheels",))
    assert "hunter2" not in "".join(told)
    pipx = ["pipx", "inject", "--pip-args", "--index-url https://u:hunter2@h.example/simple"]
    assert "hunter2" not in Shell(place, {}).shown(pipx)


def test_passwords_of_an_index_are_neither_shown_nor_kept(place, monkeypatch):
    monkeypatch.setattr(
        changes, "find_environment", lambda: Environment("pip", (sys.executable, "-c", ""), ())
    )
    told: list[str] = []
    secret = Sources("https://user:hunter2@packages.example/simple")
    changes.add(place._replace(tell=told.append), [TICKET._replace(sources=secret)])
    (item,) = read_wanted(place.home)
    assert item.sources.index_url == "https://packages.example/simple"
    assert "hunter2" not in "".join(told)


def test_what_an_installer_says_of_passwords_is_not_shown(place):
    ended = Shell(place, {}).call([sys.executable, "-c", "exit('https://u:hunter2@h.example/x')"])
    assert ended.last_words == "https://h.example/x"


def test_an_installer_is_told_where_its_environment_lies_and_gets_no_keys(place):
    code = (
        "import os; print(os.environ['UV_TOOL_DIR'], sorted(n for n in os.environ if 'KEY' in n))"
    )
    environ = {"MODEL_KEY": "x", "UV_INDEX_KEY": "y"}
    shell = Shell(place._replace(environ=environ), {"UV_TOOL_DIR": "/opt/tools"})
    assert shell.call([sys.executable, "-c", code]).told == "/opt/tools ['UV_INDEX_KEY']\n"
    assert shell.shown(["uv", "tool"]) == "UV_TOOL_DIR=/opt/tools uv tool"
