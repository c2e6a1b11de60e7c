"""Reads every layer of the configuration and lays them over each other.

Lowest to highest: built-in defaults, the provider's default model, surroundings, environment,
system file, user's file, profile file, files of a trusted project, `-c` options, dedicated flags,
the administrator's managed file; then the administrator's requirements constrain the result.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ferrule.config.defaults import default_layer, environment_layer
from ferrule.config.layers import (
    Layer,
    check_layer,
    read_layer,
    reject_legacy,
    text_layer,
)
from ferrule.config.migration import migrate
from ferrule.config.narrowing import ProjectBounds, narrow
from ferrule.config.overrides import flag_layer, override_layers
from ferrule.config.permission_choice import (
    choose_permissions,
    constrain_permissions,
    permission_choices,
)
from ferrule.config.provenance import LoadedConfig, ignored_layer
from ferrule.config.providers import resolve_oss, surroundings_layer
from ferrule.config.required_budgets import constrain_budgets
from ferrule.config.required_network import constrain_network
from ferrule.config.required_servers import constrain_servers
from ferrule.config.required_settings import constrain_settings
from ferrule.config.requirements import (
    allowed_choices,
    bound_origins,
    constrain,
    constrain_guardian,
    constrain_plugins,
    managed_warnings,
    read_requirements,
)
from ferrule.config.tables import KeyPath, Table, join_key, merge, place, table_at, texts
from ferrule.config.trust import ProjectFacts, find_project
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import ConfigRequest

ADMIN_FOLDER = Path("/etc/ferrule")


class Places(NamedTuple):
    """Where configuration is looked for.

    Attributes:
        home: `$FERRULE_HOME`.
        environ: The process environment.
        admin: The administrator's folder. Never taken from the environment: whoever sets that
            could step around the administrator.
        user_text: What the user's file would say, for looking before it is written.
        project_keys: What a trusted project's file may set beside the usual, as plugins declare.
    """

    home: Path
    environ: Mapping[str, str]
    admin: Path = ADMIN_FOLDER
    user_text: str | None = None
    project_keys: frozenset[KeyPath] = frozenset()


class _Read(NamedTuple):
    """The layers that no project file can touch, below and above the project."""

    below: Sequence[Layer]
    above: Sequence[Layer]
    managed: Layer | None
    warnings: Sequence[str]

    def own(self) -> Table:
        """Everything but the project's files."""
        return _merged([default_layer(is_trusted=False), *self.below, *self.above])


def load_config(request: ConfigRequest, *, home: Path, environ: Mapping[str, str]) -> LoadedConfig:
    """Read the configuration for one run.

    Raises:
        ConfigError: A file, option or combination cannot be used; the text names the place.
    """
    return read_config(request, Places(home, environ))


def load_plugin_rules(home: Path, admin: Path = ADMIN_FOLDER) -> Table:
    """Read only the table `plugins`: what decides whether a command's plugin may be imported.

    Raises:
        ConfigError: A file cannot be read.
    """
    return _plugin_rules(read_layer("user", home / "config.toml"), admin)


def load_administered_plugin_rules(admin: Path = ADMIN_FOLDER) -> Table:
    """Do the same without the user's file.

    Raises:
        ConfigError: A file cannot be read.
    """
    return _plugin_rules(None, admin)


def _plugin_rules(user: Layer | None, admin: Path) -> Table:
    layers = [
        default_layer(is_trusted=False),
        read_layer("system", admin / "config.toml"),
        user,
        read_layer("managed", admin / "managed_config.toml"),
    ]
    values = _merged([layer for layer in layers if layer])
    constrain_plugins(values, read_requirements(admin))
    return table_at(values, "plugins")


def read_config(request: ConfigRequest, places: Places) -> LoadedConfig:
    """Do what `load_config` does, with the administrator's folder as an argument."""
    read = _read_layers(request, places)
    project, is_trusted, notes = _decide_trust(request, places, read)
    base = [default_layer(is_trusted=is_trusted), *read.below]
    warnings = [*read.warnings, *notes]
    files: list[Layer] = []
    ignored: list[Layer] = []
    for file in project.files if is_trusted else ():
        below = _merged([*base, *files])
        choose_permissions(below, [*base, *files])  # a mode is no narrower than a profile
        bounds = ProjectBounds(below, project.root, places.project_keys)
        kept, refused = _project_layer(request, file, bounds)
        warnings += kept[1]
        files.append(kept[0])
        ignored += refused
    layers = [*base, *files, *read.above]
    values = _merged(layers)
    resolve_oss(values)
    rules = read_requirements(places.admin)
    permissions = constrain_permissions(values, rules, layers)
    changed = constrain(values, rules, layers)
    guarded = constrain_guardian(values, rules)
    server_warnings, server_origins = constrain_servers(values, rules)
    network_warnings, network_origins = constrain_network(values, rules)
    fixed_warnings, fixed_origins = constrain_settings(values, rules)
    laid = constrain_budgets(values, rules, layers) | network_origins | fixed_origins
    _finish_providers(values, layers)
    warnings += [*managed_warnings(layers, read.managed), *changed.warnings, *guarded.warnings]
    warnings += [*permissions.warnings, *server_warnings, *network_warnings]
    warnings += fixed_warnings
    return LoadedConfig(
        values,
        tuple(dict.fromkeys(warnings)),
        str(project.root),
        is_trusted,
        layers,
        changed.origins | guarded.origins | server_origins | permissions.origins | laid,
        ignored,
        allowed_choices(rules) | permission_choices(rules),
        bound_origins(rules),
    )


def _read_layers(request: ConfigRequest, places: Places) -> _Read:
    cwd = Path(request.cwd)
    files = [
        read_layer("system", places.admin / "config.toml"),
        None if request.ignore_user else _user_layer(places),
        _profile_layer(request.profile, places.home),
    ]
    below = [
        surroundings_layer(places.home, places.environ),
        environment_layer(places.environ),
        *(layer for layer in files if layer),
    ]
    managed = read_layer("managed", places.admin / "managed_config.toml")
    above = [*override_layers(request.overrides, cwd), flag_layer(request.flags, cwd)]
    above += [managed] if managed else []
    warnings: list[str] = []
    for layer in [*below, *above]:
        reject_legacy(layer)
        warnings += migrate(layer)
        warnings += check_layer(layer, strict=request.strict)
    return _Read(below, above, managed, warnings)


def _user_layer(places: Places) -> Layer | None:
    file = places.home / "config.toml"
    if places.user_text is None:
        return read_layer("user", file)
    return text_layer("user", file, places.user_text)


def _profile_layer(profile: str | None, home: Path) -> Layer | None:
    if profile is None:
        return None
    file = home / f"{profile}.config.toml"
    layer = read_layer("profile", file) if profile and Path(profile).name == profile else None
    if layer is None:
        known = sorted(p.name.removesuffix(".config.toml") for p in home.glob("*.config.toml"))
        there = f"there are: {', '.join(known)}" if known else "no profile exists yet"
        raise ConfigError(f"no profile {profile!r}: {file} does not exist ({there})")
    return layer


def _decide_trust(
    request: ConfigRequest, places: Places, read: _Read
) -> tuple[ProjectFacts, bool, list[str]]:
    own = read.own()
    user_home = Path(places.environ.get("HOME") or Path.home())
    project = find_project(
        Path(request.cwd),
        own=own,
        markers=texts(own["project_root_markers"]),
        homes=[places.home.resolve(), user_home / ".ferrule", user_home / ".codex"],
    )
    if project.trust == "trusted":
        return project, True, []
    if request.trust_project:
        _refuse_untrusted(project, read)
        from ferrule.config.edit import ConfigFileEditor

        editor = ConfigFileEditor(places.home / "config.toml")
        editor.set(("projects", str(project.root), "trust_level"), "trusted")
        return project, True, []
    notes = [
        f"{file} is not read, because the project {project.root} is not trusted; {_mend(project)}"
        for file in project.files[-1:]
    ]
    return project, False, notes


def _mend(project: ProjectFacts) -> str:
    key = join_key(("projects", project.decided_at or str(project.root)))
    if project.trust is None:
        return f'run once with --trust, or set {key}.trust_level = "trusted"'
    return f'set {key}.trust_level = "trusted" to change that'


def _refuse_untrusted(project: ProjectFacts, read: _Read) -> None:
    if project.trust is None or project.decided_at is None:
        return
    path = ("projects", project.decided_at, "trust_level")
    layer = next(layer for layer in reversed([*read.below, *read.above]) if layer.has(path))
    raise ConfigError(
        f"{layer.where(path)}: {project.decided_at} is marked as untrusted; "
        "change its trust_level there before asking to trust it"
    )


def _project_layer(
    request: ConfigRequest, file: Path, bounds: ProjectBounds
) -> tuple[tuple[Layer, list[str]], list[Layer]]:
    layer = read_layer("project", file) or Layer("project", {}, str(file))
    warnings = check_layer(layer, strict=request.strict)
    values, ignored = narrow(layer.values, bounds)
    warnings += [
        f"{layer.where(path)}: `{join_key(path)}` is ignored: a project's file cannot set it "
        "this way; set it in your own config.toml if you want it"
        for path in ignored
    ]
    refused = [ignored_layer(layer, ignored)] if ignored else []
    return (Layer("project", values, layer.file, layer.text), warnings), refused


def _merged(layers: Sequence[Layer]) -> Table:
    values: Table = {}
    for layer in layers:
        values = merge(values, layer.values)
    return values


def _finish_providers(values: Table, layers: list[Layer]) -> None:
    for layer in layers[1:]:
        if layer.has(("model_providers", "openai")):
            raise ConfigError(
                f"{layer.where(('model_providers', 'openai'))}: the provider `openai` is built in; "
                "set openai_base_url, or describe yours under another name"
            )
    place(values, ("model_providers", "openai", "base_url"), values["openai_base_url"])
    providers = table_at(values, "model_providers")
    for name in providers:
        given = table_at(providers, name)
        providers[name] = {"name": name, "wire_api": "responses", **given}
    chosen = str(values["model_provider"])
    if chosen not in providers:
        from difflib import get_close_matches

        layer = next(layer for layer in reversed(layers) if layer.has(("model_provider",)))
        near = get_close_matches(chosen, providers, n=1)
        guess = f"did you mean `{near[0]}`? " if near else ""
        raise ConfigError(
            f"{layer.where(('model_provider',))}: no model provider `{chosen}`; "
            f"{guess}known are {', '.join(sorted(providers))}"
        )
    default = table_at(providers, chosen).get("default_model")
    if default is not None:
        layer = Layer("provider", {"model": default}, source=f"default_model of {chosen!r}")
        layers.insert(1, layer)
        values["model"] = _merged(layers)["model"]
