"""Settings that plugins declare: given to their parts, checked with file and line."""

from __future__ import annotations

import anyio
import pytest

from ferrule.config.load import Places, read_config
from ferrule.plugin_config import check_tables, declarations, masked, with_plugins
from ferrule.settings_words import default_of
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigEdit, ConfigRequest

SETTINGS = """
from pydantic import BaseModel, Field, SecretStr

class Account(BaseModel):
    name: str = "nobody"

class AcmeSettings(BaseModel):
    url: str = Field("https://tickets.example", description="Where tickets are filed.")
    retries: int = Field(3, ge=0, json_schema_extra={"project": True})
    token: SecretStr | None = None
    account: Account = Account()
    sandbox_mode: str = "danger-full-access"
"""
PARTS = """
from ferrule_hookspecs import Tool, ToolResult, hookimpl

class Ticket(Tool):
    name = "acme_ticket"

    def __init__(self, context):
        self.settings = context.settings

    async def run(self, call, context):
        return ToolResult("done")

class Reviewer:
    def __init__(self, context):
        self.settings = context.settings
"""
HOOKS = """
from ferrule_hookspecs import hookimpl

@hookimpl
def ferrule_recipes(context):
    return [context.settings]
"""
POINTS = {
    "ferrule.settings:acme": "acme_settings:AcmeSettings",
    "ferrule.tools:acme_ticket": "acme_parts:Ticket",
    "ferrule.reviewers:acme": "acme_parts:Reviewer",
    "ferrule.plugins:acme": "acme_hooks",
}


MODULES = {"acme_settings.py": SETTINGS, "acme_parts.py": PARTS, "acme_hooks.py": HOOKS}


@pytest.fixture(scope="module")
def installed(lasting_site):
    """A site with `acme-ticket`, for all tests that only use it."""
    lasting_site.add("acme-ticket", POINTS, MODULES)
    return lasting_site


@pytest.fixture
def site(request, site, installed, borrowed_site):
    """The site that all share, or one of its own for a test that changes what is installed."""
    return site if "acme" in request.fixturenames else borrowed_site


@pytest.fixture
def acme(site):
    """Install `acme-ticket`, with settings of the given source."""

    def install(settings=SETTINGS, version="1.0", **more):
        modules = MODULES | {"acme_settings.py": settings}
        return site.add("acme-ticket", POINTS | more, modules, version=version)

    install()
    return install


@pytest.fixture
def read(site, tmp_path):
    """Read the configuration as the given file says; returns it and what was installed."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (project / ".git").mkdir(parents=True)

    def call(text="", *, project_text="", required="", **request):
        (home / "config.toml").write_text(f'projects."{project}".trust_level = "trusted"\n' + text)
        (tmp_path / "requirements.toml").write_text(required)
        (project / ".ferrule").mkdir(exist_ok=True)
        (project / ".ferrule" / "config.toml").write_text(project_text)
        places = Places(home, {"HOME": str(tmp_path)}, tmp_path)
        asked = ConfigRequest(str(project), **request)
        return with_plugins(
            lambda keys: read_config(asked, places._replace(project_keys=keys)), site.index()
        )

    return call


def settings_of(site, config, group="ferrule.tools"):
    """What a part of the plugin is given."""
    manager = site.manager(dict(config.values))
    if group == "ferrule.tools":
        return manager.tools(site.context)[0].settings
    if group == "ferrule.plugins":
        hooks = manager.hooks
        answers = anyio.run(lambda: hooks.gather("ferrule_recipes", context=site.context))
        return answers[0][1][0]
    return manager.driver(group, "acme", site.context).settings


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", "https://tickets.example"),
        ('plugins.settings.acme.url = "https://acme.example"', "https://acme.example"),
    ],
)
def test_every_part_of_a_plugin_is_given_its_table_with_defaults(site, read, text, url):
    config = read(text)
    for group in ("ferrule.tools", "ferrule.reviewers", "ferrule.plugins"):
        settings = settings_of(site, config, group)
        assert settings["url"] == url
        assert settings["retries"] == 3
        assert settings["account"] == {"name": "nobody"}
        with pytest.raises(TypeError):
            settings["url"] = "other"
    assert site.reports == []


def test_defaults_come_from_the_probe_without_an_import(site, read):
    import sys

    sys.modules.pop("acme_settings", None)
    assert settings_of(site, read())["retries"] == 3
    assert "acme_settings" not in sys.modules


def test_settings_of_a_plugin_that_runs_apart_are_checked_apart(site, read):
    import sys

    sys.modules.pop("acme_settings", None)
    config = read(
        "plugins.isolation = { acme-ticket = 'process' }\n"
        "plugins.settings.acme = { retries = '4', token = 's3cret' }\n"
    )
    assert settings_of(site, config, "ferrule.plugins")["retries"] == 4
    assert settings_of(site, config, "ferrule.plugins")["token"] == "s3cret"
    config = read(
        "plugins.isolation = { acme-ticket = 'process' }\nplugins.settings.acme.retries = -1\n"
    )
    with pytest.raises(ConfigError, match=r"`plugins\.settings\.acme\.retries`: input should"):
        site.manager(dict(config.values)).settings.check(config)
    assert "acme_settings" not in sys.modules


def test_what_a_tool_is_configured_with_lies_on_top(site, read):
    text = "plugins.settings.acme.retries = 4\ntools.acme_ticket.retries = 5\n"
    assert settings_of(site, read(text))["retries"] == 5
    assert settings_of(site, read(text), "ferrule.reviewers")["retries"] == 4


def test_a_secret_is_given_to_the_plugin_and_shown_to_nobody(site, read):
    config = read('plugins.settings.acme.token = "s3cret"')
    assert settings_of(site, config)["token"] == "s3cret"
    assert config.secrets == [("plugins", "settings", "acme", "token")]
    shown = masked(dict(config.values), (), config.secrets)
    assert shown["plugins"]["settings"]["acme"] == {"token": "(set)"}
    assert config.values["plugins"]["settings"]["acme"] == {"token": "s3cret"}


def test_a_secret_that_is_a_default_is_shown_to_nobody_either(site, acme):
    acme(SETTINGS.replace("| None = None", "= SecretStr('changeme')"), version="1.1")
    declared = declarations(site.index(), {})["acme"]
    assert default_of(declared, ("token",)) == "(set)"
    assert default_of(declared, ())["token"] == "(set)"


HIDDEN = """
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, SecretStr

class Account(BaseModel):
    name: str = ""
    token: SecretStr | None = None

class Public(BaseModel):
    token: str = ""

class AcmeSettings(BaseModel):
    tokens: list[SecretStr] = []
    accounts: list[Account] = []
    either: Public | Account = Public()
    password: SecretStr = Field("", validation_alias=AliasChoices("password", "pass_word"))
    code: SecretStr = Field("", min_length=9, validation_alias=AliasChoices("code", "pin"))
    more: dict[str, Any] = {"free": {"a": 1}}
    labels: list[str] = []
"""


def test_secrets_are_hidden_in_lists_under_other_names_and_under_former_ones(site, acme, read):
    acme(HIDDEN, version="1.1")
    config = read(
        "[plugins.settings.acme]\n"
        "tokens = ['s3cret']\naccounts = [{ name = 'a', token = 's3cret' }]\n"
        "either = { token = 's3cret' }\npass_word = 's3cret'\npasswd = 's3cret'\n"
        "more = { free = { b = 2 } }\nlabels = ['bug']\n"
    )
    assert settings_of(site, config)["accounts"][0]["token"] == "s3cret"
    shown = masked(dict(config.values), (), config.secrets)["plugins"]["settings"]["acme"]
    hidden = ("tokens", "accounts", "pass_word", "passwd")
    assert shown == dict.fromkeys(hidden, "(set)") | {
        "either": {"token": "(set)"},
        "more": {"free": {"b": 2}},
        "labels": ["bug"],
    }
    declared = declarations(site.index(), {})["acme"]
    assert default_of(declared, ("more",)) == {"free": {"a": 1}}
    config = read("plugins.settings.acme.pin = 's3cret'")
    with pytest.raises(ConfigError) as raised:
        site.manager(dict(config.values)).settings.check(config)
    assert "`plugins.settings.acme.pin`: value should have at least 9" in str(raised.value)
    assert "s3cret" not in str(raised.value)


COMPUTED = """
import os

from pydantic import BaseModel, Field

class Account(BaseModel):
    name: str = Field(default_factory=lambda: os.environ.get("ACME_DESK_NAME", "nobody"))
    labels: list[str] = Field(default_factory=list)

class AcmeSettings(BaseModel):
    account: Account = Field(default_factory=Account)
"""


def test_a_default_from_the_environment_is_that_of_the_session(site, acme, read, monkeypatch):
    acme(COMPUTED, version="1.1")
    config = read()
    assert declarations(site.index(), {})["acme"].defaults is None
    monkeypatch.setenv("ACME_DESK_NAME", "me")
    assert settings_of(site, config)["account"] == {"name": "me", "labels": ()}


ODD = """
from datetime import timedelta
from pathlib import Path

from pydantic import AliasChoices, BaseModel, Field

class AcmeSettings(BaseModel):
    folder: Path = Path("tickets")
    pause: timedelta = timedelta(seconds=2)
    host: str = Field("here", validation_alias=AliasChoices("host", "server"))
    inner: "AcmeSettings | None" = None
"""


def test_a_model_may_hold_itself_have_other_names_and_values_of_its_own(site, acme, read):
    acme(ODD, version="1.1")
    assert settings_of(site, read())["folder"].name == "tickets"
    config = read(
        "plugins.settings.acme = { server = 'there', inner = { folder = 'deep', server = 'x' } }"
    )
    assert config.warnings == ()
    settings = settings_of(site, config)
    assert (settings["host"], settings["pause"].seconds) == ("there", 2)
    assert settings["inner"]["folder"].name == "deep"
    assert declarations(site.index(), {})["acme"].field(("inner", "host"))["default"] == "here"


def test_everything_wrong_is_told_at_once_with_its_line(site, read, tmp_path):
    config = read(
        "[plugins.settings.acme]\nurl = 5\nretries = -1\ntoken = 7\n\n"
        "[plugins.settings.acme.account]\nname = []\n"
    )
    file = tmp_path / "home" / "config.toml"
    with pytest.raises(ConfigError) as raised:
        site.manager(dict(config.values)).settings.check(config)
    told = str(raised.value)
    assert f"{file}:3:1: `plugins.settings.acme.url`: input should be a valid string, not" in told
    assert "the integer 5" in told
    assert f"{file}:4:1: `plugins.settings.acme.retries`: input should be greater than" in told
    assert f"{file}:5:1: `plugins.settings.acme.token` has a value that is not accepted" in told
    assert f"{file}:8:1: `plugins.settings.acme.account.name`: input should be" in told
    assert "acme-ticket 1.0; mend them, or go on without it: --no-plugin acme-ticket" in told


def test_a_wrong_table_is_in_the_way_of_changes_of_its_own_only(site, read):
    config = read("plugins.settings.acme.retries = -1")
    check_tables(config, site.index(), ["other"])
    for names in (None, ["acme"]):
        with pytest.raises(ConfigError, match=r"plugins\.settings\.acme\.retries`: input should"):
            check_tables(config, site.index(), names)


def test_a_wrong_table_of_a_plugin_that_is_not_used_stops_nothing(site, read):
    config = read('plugins.disabled = ["acme-ticket"]\nplugins.settings.acme.retries = "many"')
    site.manager(dict(config.values)).settings.check(config)
    assert "belongs to no plugin that is in use; it is kept" in config.warnings[-1]


def test_an_unknown_key_is_told_like_one_of_the_host_s(site, read, tmp_path):
    text = "[plugins.settings.acme]\nretrys = 5\n[plugins.settings.acme.account]\nnam = 'x'\n"
    first, second = read(text).warnings
    file = tmp_path / "home" / "config.toml"
    assert first == (
        f"{file}:3: unknown configuration key `plugins.settings.acme.retrys` is ignored by"
        " acme-ticket 1.0; did you mean `plugins.settings.acme.retries`?"
    )
    assert f"{file}:5: unknown configuration key `plugins.settings.acme.account.nam`" in second


@pytest.mark.parametrize(
    ("extra", "told"),
    [("allow", []), ("forbid", ["unknown configuration key `plugins.settings.acme.more`"])],
)
def test_a_model_may_allow_or_forbid_other_keys(site, acme, read, extra, told):
    acme(SETTINGS + f'\n    model_config = {{"extra": "{extra}"}}\n', version="1.1")
    config = read("plugins.settings.acme.more = 1")
    assert config.warnings == ()
    found = []
    try:
        site.manager(dict(config.values)).settings.check(config)
    except ConfigError as error:
        found = [str(error).partition(": ")[2].partition("\n")[0]]
    assert found == told


def test_a_table_of_a_plugin_that_is_not_installed_is_kept_and_told(site, read, tmp_path):
    config = read("plugins.settings.gone.a = 1")
    [warning] = config.warnings
    assert warning.startswith(f"{tmp_path / 'home' / 'config.toml'}:2: `plugins.settings.gone`")
    assert masked(dict(config.values), (), config.secrets)["plugins"]["settings"] == {
        "gone": {"a": "(set)"}
    }


REQUIRED = "from pydantic import BaseModel\nclass AcmeSettings(BaseModel):\n    url: str\n"


def test_a_plugin_that_needs_settings_is_not_used_before_it_has_them(site, acme, read):
    acme(REQUIRED, version="2.0")
    manager = site.manager(dict(read().values))
    assert manager.tools(site.context) == []
    assert "it has to be configured first: set `plugins.settings.acme.url` in" in site.reports[0]
    assert len(site.reports) == 1
    assert settings_of(site, read("plugins.settings.acme.url = 'u'")) == {"url": "u"}


def test_a_required_plugin_without_its_settings_stops_the_run(site, acme, read):
    acme(REQUIRED, version="2.0")
    manager = site.manager(dict(read("plugins.required = ['acme-ticket']").values))
    assert "it has to be configured first" in " ".join(manager.required_missing())


def test_a_second_table_of_one_distribution_is_a_fault(site, acme, read):
    acme(**{"ferrule.settings:bcme": "acme_settings:Account"})
    site.manager(dict(read().values))
    [report] = site.reports
    assert "declares two tables of settings, and only 'acme' counts" in report


def test_a_project_sets_what_the_plugin_opens_to_projects(site, read):
    config = read(
        "plugins.settings.acme.retries = 4",
        project_text='[plugins.settings.acme]\nretries = 5\nurl = "https://evil.example"\n',
    )
    settings = settings_of(site, config)
    assert (settings["retries"], settings["url"]) == (5, "https://tickets.example")
    [warning] = config.warnings
    assert "`plugins.settings.acme.url` is ignored: a project's file cannot set it" in warning


def test_what_a_namesake_opens_to_projects_is_not_open(site, acme, read):
    opened = SETTINGS.replace('description="', 'json_schema_extra={"project": True}, description="')
    points = {"ferrule.settings:acme": "bcme_settings:AcmeSettings"}
    site.add("bcme-desk", points, {"bcme_settings.py": opened})
    project = "plugins.settings.acme.url = 'https://project.example'\n"
    override = "plugins.overrides = { 'ferrule.settings:acme' = 'bcme-desk' }\n"
    url = "plugins.settings.acme.url"

    assert read(override, project_text=project).get(url) == "https://project.example"
    config = read(project_text=project)

    assert config.get(url) is None
    assert f"`{url}` is ignored: a project's file cannot set it" in config.warnings[0]


def test_the_administrator_fixes_values(site, read, tmp_path):
    config = read(
        "plugins.settings.acme = { url = 'https://mine.example', retries = 1 }",
        required="[plugins.settings.acme]\nurl = 'https://corp.example'\n",
    )
    settings = settings_of(site, config)
    assert (settings["url"], settings["retries"]) == ("https://corp.example", 1)
    origin = config.origin("plugins.settings.acme.url")
    assert (origin.layer, origin.line) == ("requirements", 2)
    assert "`plugins.settings.acme.url` is overruled by the administrator" in config.warnings[0]


def test_a_field_named_like_a_key_of_the_host_changes_nothing_of_the_host(site, read):
    config = read("plugins.settings.acme.sandbox_mode = 'danger-full-access'")
    assert config.get("sandbox_mode") != "danger-full-access"
    assert settings_of(site, config)["sandbox_mode"] == "danger-full-access"


def test_a_renamed_field_of_a_new_version_is_told_with_its_line(site, acme, read, tmp_path):
    text = "# mine\n[plugins.settings.acme]\nretries = 5\n"
    read(text)
    acme(SETTINGS.replace("retries:", "attempts:"), version="2.0")
    config = read(text)
    file = tmp_path / "home" / "config.toml"
    assert (
        f"{file}:4: unknown configuration key `plugins.settings.acme.retries` is ignored by"
        in (config.warnings[0])
    )
    assert "acme-ticket 2.0" in config.warnings[0]
    assert settings_of(site, config)["attempts"] == 3
    assert text in file.read_text()


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("raise ValueError('the port is odd')", "the port is odd"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_model_that_fails_stops_the_run_in_words(site, acme, read, source, cause):
    check = (
        "\n    from pydantic import field_validator\n    @field_validator('url')\n"
        f"    @classmethod\n    def check(cls, value):\n        {source}\n"
    )
    acme(SETTINGS + check, version="1.1")
    config = read("plugins.settings.acme.url = 'x'")
    with pytest.raises(ConfigError, match=cause):
        site.manager(dict(config.values)).settings.check(config)


class Recorded:
    """A runtime that notes what is written."""

    def __init__(self):
        self.edits = []

    def write_config(self, edits):
        self.edits += edits


def test_a_stranger_writes_its_own_table_only(site, read):
    runtime = Recorded()
    manager = site.manager(dict(read().values))
    context = manager.settings.given(
        manager.entry("ferrule.plugins", "acme"), site.context._replace(runtime=runtime)
    )
    own = ConfigEdit("plugins.settings.acme.url", "u")
    for key in ("sandbox_mode", "plugins.settings.other.url", "plugins", "plugins.settings"):
        with pytest.raises(ConfigError, match="may not change"):
            context.runtime.write_config([own, ConfigEdit(key, {}, merge=True)])
    assert runtime.edits == []
    context.runtime.write_config([own])
    assert runtime.edits == [own]


def test_declarations_are_known_without_an_import(site):
    import sys

    declared = declarations(site.index(), {})["acme"]
    assert declared.owner == "acme-ticket 1.0"
    assert declared.field(("url",))["description"] == "Where tickets are filed."
    assert declared.field(("account", "name"))["type"] == "string"
    assert declared.field(("nothing",)) is None
    assert "acme_settings" not in sys.modules
