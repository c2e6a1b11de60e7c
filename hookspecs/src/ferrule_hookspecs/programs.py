"""Programs whose first words say little about what will run: data that rules are drawn from.

Whoever offers, proposes or reads rules by prefix needs the same lists, so that what one of them
holds for too broad is never offered by another.
"""

from __future__ import annotations

from typing import Final

INTERPRETERS: Final = frozenset(
    [
        "python",
        "python2",
        "python3",
        "py",
        "pypy",
        "pypy3",
        "node",
        "deno",
        "bun",
        "perl",
        "ruby",
        "php",
        "lua",
    ]
)
"""Run code that is given as an argument, a file or on their input. Beside them names with versions
count, such as python3.12."""

SHELLS: Final = frozenset(["bash", "sh", "zsh", "dash", "ksh", "fish", "pwsh", "powershell"])
"""Run a script that is given in the same ways."""

LAUNCHERS: Final = frozenset(
    [
        "osascript",
        "ssh",
        "eval",
        "exec",
        "command",
        "sudo",
        "doas",
        "su",
        "env",
        "xargs",
        "find",
        "time",
        "timeout",
        "nohup",
        "nice",
        "npx",
        "uvx",
    ]
)
"""Run what stands behind their options."""

RUNNING_COMMANDS: Final = frozenset(
    tuple(pair.split())
    for pair in (
        *("npm exec", "npm run", "npm x", "pnpm exec", "pnpm dlx", "pnpm run", "yarn dlx"),
        *("yarn run", "bun run", "uv run", "uv tool", "poetry run", "conda run", "bundle exec"),
        *("docker run", "docker exec", "docker compose", "podman run", "podman exec"),
        *("kubectl exec", "kubectl run", "go run", "cargo run", "dotnet run", "mix run"),
        *("swift run", "git config", "git submodule", "git bisect", "gh alias"),
    )
)
"""Programs with a command of theirs after which anything may follow."""
