"""What recipes open on a machine, and what they never do."""

import anyio
import pytest

from ferrule.dispatcher import Dispatcher
from ferrule.policy import resolve_policy
from ferrule.recipes import Offer, RecipeBook, configured_recipes, find_recipe
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.recipes import Recipe

CONFINED = {"type": "workspaceWrite", "excludeSlashTmp": True, "excludeTmpdirEnvVar": True}
CACHED = Recipe(
    "cached",
    "its own cache",
    ("make",),
    writable=("$RECIPE_CACHE/store",),
    environment=(("MAKE_CACHE", "$RECIPE_CACHE/store"), ("MAKE_OPTS", "$MAKE_OPTS -c")),
)


@pytest.fixture
def machine(tmp_path):
    """A home with a project and a folder beside it."""
    for name in ("home", "project", "elsewhere"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def book(machine):
    """Make a book of recipes for a project."""

    def make(*recipes, project="project", environ=(), config=()):
        context = PluginContext(
            machine / "ferrule",
            dict(config),
            str(machine / project),
            environ={"HOME": str(machine / "home"), **dict(environ)},
        )
        return RecipeBook(recipes, context)

    return make


@pytest.fixture
def policy(machine):
    """Resolve a policy for a folder of the machine."""

    def resolve(kind=CONFINED, cwd="project", **options):
        return resolve_policy(
            kind,
            str(machine / cwd),
            environ={"HOME": str(machine / "home")},
            home=machine / "ferrule",
            **options,
        )

    return resolve


def test_a_recipe_has_a_folder_of_its_own_for_every_project(machine, book, policy):
    here, there = book(CACHED), book(CACHED, project="elsewhere")
    opened = here.opened(policy())

    own = machine / "home" / ".cache" / "ferrule" / "recipes" / "cached"
    assert decide(opened, "write", here.cache(CACHED) + "/store/file") is None
    assert decide(opened, "write", there.cache(CACHED) + "/store/file") is not None
    assert decide(opened, "write", str(own / "file")) is not None
    assert decide(opened, "write", str(machine / "home" / "file")) is not None


def test_the_folder_can_be_read_by_its_owner_alone(book, policy):
    from pathlib import Path

    one = book(CACHED)
    one.opened(policy())

    assert Path(one.cache(CACHED), "store").stat().st_mode & 0o777 == 0o700


def test_the_folder_lies_where_caches_lie(machine, book):
    one = book(CACHED, environ={"XDG_CACHE_HOME": str(machine / "elsewhere")})

    assert one.cache(CACHED).startswith(str(machine / "elsewhere" / "ferrule" / "recipes"))


def test_variables_hold_what_was_in_them_before(book, policy):
    one = book(CACHED)
    opened = one.opened(policy())

    found = one.environment(opened, {"MAKE_OPTS": "-j2"})

    assert found == {"MAKE_OPTS": "-j2 -c", "MAKE_CACHE": one.cache(CACHED) + "/store"}


def test_what_the_user_or_the_tool_sets_is_left_alone(book, policy):
    one = book(CACHED, config={"shell_environment_policy": {"set": {"MAKE_CACHE": "/mine"}}})
    opened = one.opened(policy())

    found = one.environment(opened, {"MAKE_CACHE": "/mine", "MAKE_OPTS": "-k"}, ["MAKE_OPTS"])

    assert found == {"MAKE_CACHE": "/mine", "MAKE_OPTS": "-k"}


@pytest.mark.parametrize("kind", [{"type": "readOnly"}, {"type": "dangerFullAccess"}])
def test_it_counts_in_workspace_write_alone(book, policy, kind):
    one = book(CACHED)

    assert one.opened(policy(kind)) == policy(kind)
    assert one.environment(policy(kind), {"A": "b"}) == {"A": "b"}


def test_a_grant_to_a_read_only_session_brings_no_variables(machine, book, policy):
    one = book(CACHED)
    one.opened(policy())
    granted = policy(cwd="elsewhere")

    assert one.environment(granted, {"A": "b"}) == {"A": "b"}


def test_named_places_and_sockets_are_opened_and_no_others(machine, book, policy):
    home = machine / "home"
    for name in (".netrc", ".pypirc"):
        (home / name).write_text("secret")
    recipe = Recipe(
        "all",
        "all",
        (),
        writable=("~/tool", "~/missing", "$UNSET/folder"),
        readable=("~/.pypirc",),
        unix_sockets=("$RUNTIME/tool.sock", "$UNSET/tool.sock"),
    )
    (home / "tool").mkdir()
    opened = book(recipe, environ={"RUNTIME": "/somewhere"}).opened(policy())

    assert decide(opened, "write", str(home / "tool" / "file")) is None
    assert decide(opened, "write", str(home / "missing")) is not None
    assert decide(opened, "read", str(home / ".pypirc")) is None
    assert decide(opened, "read", str(home / ".netrc")) is not None
    assert opened.unix_sockets == ("/somewhere/tool.sock",)


def test_what_is_protected_in_a_folder_stays_so(machine, book, policy):
    hooks = machine / "elsewhere" / "nested" / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks.parent / "HEAD").write_text("ref: refs/heads/main")
    recipe = Recipe("broad", "broad", (), writable=(str(machine / "elsewhere"),))
    opened = book(recipe).opened(policy())

    assert decide(opened, "write", str(machine / "elsewhere" / "file")) is None
    assert decide(opened, "create", str(hooks / "pre-commit")) is not None
    assert decide(opened, "create", str(machine / "elsewhere" / ".vscode")) is not None


@pytest.mark.parametrize("folder", ["/", "/proc", "ferrule", "project/.git/hooks"])
def test_what_nobody_may_open_no_recipe_opens(machine, book, policy, folder):
    for name in ("ferrule", "project/.git/hooks"):
        (machine / name).mkdir(parents=True)
    (machine / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main")
    recipe = Recipe("greedy", "greedy", (), writable=(str(machine / folder),))

    with pytest.raises(ConfigError, match="'greedy' cannot open"):
        book(recipe).opened(policy())


@pytest.mark.parametrize("link", ["", "recipes", "recipes/cached"])
def test_a_link_that_a_command_planted_leads_nowhere(machine, book, policy, link):
    """The workspace may be the home, so that commands can write where the caches lie."""
    one = book(CACHED, project="home")
    at = machine / "home" / ".cache" / "ferrule" / link
    at.parent.mkdir(parents=True)
    at.symlink_to(machine / "elsewhere")

    with pytest.raises(ConfigError, match="is a link in a folder that commands may write"):
        one.opened(policy(cwd="home"))
    assert list((machine / "elsewhere").iterdir()) == []


def test_a_link_of_the_users_is_followed(machine, book, policy):
    (machine / "home" / ".cache").symlink_to(machine / "elsewhere")

    opened = book(CACHED).opened(policy())

    assert decide(opened, "write", str(machine / "elsewhere" / "file")) is not None
    assert any(
        root.path.startswith(str(machine / "elsewhere" / "ferrule"))
        for root in opened.writable_roots
    )


def test_hosts_are_said_in_terms_of_the_managed_network(book):
    one = Recipe("one", "one", (), presets=("npm",), hosts=("example.com",))
    two = Recipe("two", "two", (), presets=("npm", "pypi"))

    assert book(one, two).presets == ("npm", "pypi")
    assert book(one, two).rules == ("allow network protocol:https host:example.com",)


def test_a_cache_that_cannot_be_made_is_said_so(machine, book, policy):
    (machine / "home" / ".cache").write_text("a file")

    with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
        book(CACHED).opened(policy())


def test_a_name_that_nobody_offers(book):
    with pytest.raises(ConfigError, match="'other', which no plugin offers; there are: cached"):
        find_recipe([Offer("ours", CACHED)], "other")


def test_a_name_that_two_plugins_offer():
    with pytest.raises(ConfigError, match="'one' and 'two' both offer the recipe 'cached'"):
        find_recipe([Offer("one", CACHED), Offer("two", CACHED)], "cached")


def test_nobody_is_asked_where_none_is_named(machine):
    context = PluginContext(machine, {"sandbox_recipes": []})
    found = anyio.run(configured_recipes, Dispatcher((), print), context)

    assert found.recipes == ()
