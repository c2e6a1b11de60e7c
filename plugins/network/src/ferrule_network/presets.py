"""Hosts of package registries and forges, by name: data.

Each is what the tool itself needs to fetch; publishing and signing in are left out where they have
hosts of their own.
"""

from __future__ import annotations

from typing import Final

from ferrule_hookspecs.errors import ConfigError
from ferrule_network.rule import NetworkRule

PRESETS: Final[dict[str, tuple[str, ...]]] = {
    "pypi": ("pypi.org", "files.pythonhosted.org"),
    "conda": ("conda.anaconda.org", "repo.anaconda.com", "api.anaconda.org"),
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com"),
    "jsr": ("jsr.io", "npm.jsr.io", "deno.land"),
    "crates.io": ("index.crates.io", "static.crates.io", "crates.io"),
    "rustup": ("static.rust-lang.org",),
    "go": ("proxy.golang.org", "sum.golang.org"),
    "maven": ("repo.maven.apache.org", "repo1.maven.org"),
    "gradle": ("services.gradle.org", "plugins.gradle.org", "downloads.gradle.org"),
    "rubygems": ("rubygems.org", "index.rubygems.org"),
    "packagist": ("repo.packagist.org", "packagist.org"),
    "nuget": ("api.nuget.org",),
    "hex": ("repo.hex.pm", "hex.pm", "builds.hex.pm"),
    "hackage": ("hackage.haskell.org",),
    "cran": ("cran.r-project.org", "cloud.r-project.org"),
    "cpan": ("www.cpan.org", "cpan.metacpan.org"),
    "debian": ("deb.debian.org", "security.debian.org"),
    "ubuntu": ("archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"),
    "alpine": ("dl-cdn.alpinelinux.org",),
    "docker-hub": (
        "registry-1.docker.io",
        "auth.docker.io",
        "production.cloudflare.docker.com",
    ),
    "ghcr": ("ghcr.io", "pkg-containers.githubusercontent.com"),
    "github": (
        "github.com",
        "api.github.com",
        "codeload.github.com",
        "raw.githubusercontent.com",
        "objects.githubusercontent.com",
        "release-assets.githubusercontent.com",
    ),
    "gitlab": ("gitlab.com",),
    "bitbucket": ("bitbucket.org", "api.bitbucket.org"),
    "codeberg": ("codeberg.org",),
    "huggingface": ("huggingface.co", "cdn-lfs.huggingface.co", "cas-bridge.xethub.hf.co"),
}
"""Allowed by https on port 443."""

_PLAIN: Final = frozenset({"debian", "ubuntu", "alpine"})
"""Registries that are used by plain http, too: their files are signed."""


def preset_rules(name: str) -> tuple[NetworkRule, ...]:
    """The rules of a preset; raises `ConfigError` for an unknown name."""
    if name not in PRESETS:
        known = ", ".join(sorted(PRESETS))
        raise ConfigError(f"presets of [network] holds {name!r}, which is none of {known}")
    place = f"the preset {name}"
    protocols = (("https", 443), ("http", 80)) if name in _PLAIN else (("https", 443),)
    return tuple(
        NetworkRule("allow", host, protocol, (port,), place=place)
        for host in PRESETS[name]
        for protocol, port in protocols
    )
