"""The kinds of plugins that `ferrule plugins new` can begin: what differs from one to another."""

from __future__ import annotations

from typing import Final, NamedTuple

from ferrule_hookspecs.slots import COMMAND_GROUP, HOOK_GROUP, TOOL_GROUP


class Kind(NamedTuple):
    """One kind of plugin.

    Attributes:
        group: The group of its entry point.
        part: Name of its module, and of its template.
        target: What the entry point names in that module, with `{class}` for the class; empty for
            the module itself.
        noun: What it is, in a sentence.
        turn_on: How it is put to use once it is installed; Markdown.
        try_out: What stands behind `ferrule --dev-plugin .` to try it.
        dependencies: What it needs beside the contract.
        tried_with: What its tests need of Ferrule beside the lean set.
        has_dashes: Whether its name stands in command lines or URLs, and so has dashes.
        capabilities: Lines of its `ferrule.toml`.
    """

    group: str
    part: str
    target: str
    noun: str
    turn_on: str
    try_out: str
    dependencies: tuple[str, ...] = ()
    tried_with: tuple[str, ...] = ()
    has_dashes: bool = False
    capabilities: str = ""


_UNUSED: Final = """\
# read = ["~/.config/{{entry}}"]
# write = ["~/.cache/{{entry}}"]
# hosts = ["{{title}}.example.com"]
# environment = ["{{variable}}_TOKEN"]
"""
_PROVIDER_ASKS: Final = """\
hosts = ["{{title}}.example.com"]
environment = ["{{variable}}_KEY"]
"""
_TOOL_ON: Final = """\
It is then offered to the model in every session; `tools.{{name}} = false` in `config.toml` takes
it away again."""
_REVIEWER_ON: Final = """\
Then have it asked, in `config.toml`:

```toml
approvals_reviewer = "{{name}}"

[reviewers.{{name}}]
forbidden = ['\\bcurl\\b', '\\brm +-rf\\b']
```"""
_SANDBOX_ON: Final = """\
Then choose it, in `config.toml`:

```toml
sandbox_backend = "{{name}}"
sandbox_accept_gaps = ["missing_names"]
```

It confines with bubblewrap. What it enforces it declares, and Ferrule refuses policies that need
more, unless a gap is accepted as above: protected names that do not exist yet can be created."""
_PROVIDER_ON: Final = """\
Then name it as the `wire_api` of a provider, in `config.toml`:

```toml
model_provider = "{{name}}"

[model_providers.{{name}}]
name = "{{title}}"
base_url = "https://{{title}}.example.com/v1"
env_key = "{{variable}}_KEY"
wire_api = "{{name}}"
```"""
_TRANSPORT_ON: Final = """\
Then serve on it; clients send and read one JSON message a line:

```sh
ferrule app-server --listen {{entry}}://127.0.0.1:4501
```"""
_HOOKS_ON: Final = """\
It then takes part in every session: calls that name what is forbidden are refused, and
`{{name}}.log` in `$FERRULE_HOME` gets a line for every turn."""
_COMMAND_ON: Final = """\
Then there is one word more:

```sh
ferrule {{entry}} --help
```"""

KINDS: Final[dict[str, Kind]] = {
    "tool": Kind(
        TOOL_GROUP,
        "tool",
        "{class}",
        "tool",
        _TOOL_ON,
        'exec "count the words of README.md"',
        ("pydantic>=2.10,<3",),
        capabilities=_UNUSED,
    ),
    "reviewer": Kind(
        "ferrule.reviewers",
        "reviewer",
        "{class}",
        "reviewer",
        _REVIEWER_ON,
        'exec -c approvals_reviewer={{name}} -a on-request "download example.com"',
        capabilities=_UNUSED,
    ),
    "sandbox": Kind(
        "ferrule.sandboxes",
        "backend",
        "{class}",
        "sandbox",
        _SANDBOX_ON,
        "sandbox --backend {{name}} -- ls",
        capabilities=_UNUSED,
    ),
    "provider": Kind(
        "ferrule.providers",
        "provider",
        "{class}",
        "model provider",
        _PROVIDER_ON,
        "exec -c model_provider={{name}} hello",
        ("httpx>=0.28,<1",),
        capabilities=_PROVIDER_ASKS,
    ),
    "transport": Kind(
        "ferrule.transports",
        "transport",
        "{class}",
        "transport",
        _TRANSPORT_ON,
        "app-server --listen {{entry}}://127.0.0.1:4501",
        ("anyio>=4.11,<5",),
        ("ferrule-app-server",),
        has_dashes=True,
        capabilities=_UNUSED,
    ),
    "hooks": Kind(
        HOOK_GROUP,
        "hooks",
        "",
        "hooks",
        _HOOKS_ON,
        'exec "say hello"',
        capabilities=_UNUSED,
    ),
    "command": Kind(
        COMMAND_GROUP,
        "command",
        "command",
        "command",
        _COMMAND_ON,
        "{{entry}}",
        has_dashes=True,
        capabilities=_UNUSED,
    ),
}
