"""What each tool needs, as data.

A tool gets a cache that only commands in the sandbox use, and is told of it by a variable, rather
than the user's own: what a command plants there is never taken up by a tool outside. The page
docs/recipes.md says of each what it opens and what risk remains.
"""

from __future__ import annotations

from typing import Final

from ferrule_hookspecs.recipes import Recipe

_CACHE: Final = ("$RECIPE_CACHE",)
_REGISTRY: Final = (
    "with the managed network, what a command can read it can send to the registry: as part of a "
    "request, or of a package it publishes with a token of its own"
)
_NO_RISK_OF_ITS_OWN: Final = f"nothing outside runs what the cache holds; {_REGISTRY}"

_NPM: Final = Recipe(
    "npm",
    "a cache of npm for this project",
    ("npm", "npx"),
    _NO_RISK_OF_ITS_OWN,
    writable=_CACHE,
    environment=(
        ("npm_config_cache", "$RECIPE_CACHE"),
        ("npm_config_update_notifier", "false"),
    ),
    presets=("npm",),
)
_PNPM: Final = Recipe(
    "pnpm",
    "a store, a cache and a state folder of pnpm for this project",
    ("pnpm", "pnpx", "corepack"),
    _NO_RISK_OF_ITS_OWN,
    writable=_CACHE,
    environment=(
        ("npm_config_store_dir", "$RECIPE_CACHE/store"),
        ("npm_config_cache_dir", "$RECIPE_CACHE/cache"),
        ("npm_config_state_dir", "$RECIPE_CACHE/state"),
        # From version 11 on pnpm reads its own prefix alone.
        ("pnpm_config_store_dir", "$RECIPE_CACHE/store"),
        ("pnpm_config_cache_dir", "$RECIPE_CACHE/cache"),
        ("pnpm_config_state_dir", "$RECIPE_CACHE/state"),
        ("COREPACK_HOME", "$RECIPE_CACHE/corepack"),
        ("npm_config_update_notifier", "false"),
    ),
    presets=("npm",),
)
_PIP: Final = Recipe(
    "pip",
    "a cache of pip for this project",
    ("pip", "pip3"),
    _NO_RISK_OF_ITS_OWN,
    writable=_CACHE,
    environment=(("PIP_CACHE_DIR", "$RECIPE_CACHE"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")),
    presets=("pypi",),
)
_UV: Final = Recipe(
    "uv",
    "a cache of uv for this project",
    ("uv", "uvx"),
    _NO_RISK_OF_ITS_OWN,
    writable=_CACHE,
    environment=(
        ("UV_CACHE_DIR", "$RECIPE_CACHE"),
        # The cache lies on another mount than the workspace, where links cannot lead.
        ("UV_LINK_MODE", "copy"),
    ),
    presets=("pypi",),
)
_CARGO: Final = Recipe(
    "cargo",
    "a home of cargo for this project, with its registry and git checkouts",
    ("cargo", "rustc"),
    "settings and credentials in your own ~/.cargo are not read, unless the project lies below "
    f"your home; nothing outside runs what the home holds; {_REGISTRY}",
    writable=_CACHE,
    environment=(("CARGO_HOME", "$RECIPE_CACHE"),),
    presets=("crates.io",),
)
_GO: Final = Recipe(
    "go",
    "a module cache and a build cache of go for this project",
    ("go", "gofmt"),
    f"`go install` cannot write to your own GOPATH; {_NO_RISK_OF_ITS_OWN}",
    writable=("$RECIPE_CACHE/modules", "$RECIPE_CACHE/build"),
    environment=(
        ("GOMODCACHE", "$RECIPE_CACHE/modules"),
        ("GOCACHE", "$RECIPE_CACHE/build"),
        ("GOFLAGS", "$GOFLAGS -modcacherw"),
    ),
    presets=("go",),
)
_MAVEN: Final = Recipe(
    "maven",
    "a local repository of Maven for this project",
    ("mvn", "mvnw"),
    "`mvn install` of this project is seen by its own builds alone; your settings.xml is read, "
    f"passwords included; {_NO_RISK_OF_ITS_OWN}",
    writable=_CACHE,
    environment=(("MAVEN_OPTS", "$MAVEN_OPTS -Dmaven.repo.local=$RECIPE_CACHE/repository"),),
    presets=("maven",),
)
_GRADLE: Final = Recipe(
    "gradle",
    "a home of Gradle for this project, with its caches and distributions",
    ("gradle", "gradlew"),
    "your own gradle.properties and init scripts are not read; a daemon ends with its command; "
    f"{_NO_RISK_OF_ITS_OWN}",
    writable=_CACHE,
    environment=(("GRADLE_USER_HOME", "$RECIPE_CACHE"),),
    presets=("gradle", "maven"),
)
_DOCKER: Final = Recipe(
    "docker",
    "the socket of docker, and a folder for buildx",
    ("docker", "docker-compose", "buildx"),
    "whoever reaches a docker that runs as root is root on this machine: one command mounts the "
    "whole disk into a container and changes anything, the sandbox included; do not name it where "
    "a sandbox matters; a rootless docker gives away your own account in the same way",
    writable=_CACHE,
    unix_sockets=(
        "/var/run/docker.sock",
        "$XDG_RUNTIME_DIR/docker.sock",
        "~/.docker/run/docker.sock",
    ),
    environment=(("BUILDX_CONFIG", "$RECIPE_CACHE"),),
)
RECIPES: Final = (_CARGO, _DOCKER, _GO, _GRADLE, _MAVEN, _NPM, _PIP, _PNPM, _UV)
