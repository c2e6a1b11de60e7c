"""Options by which pip and uv are told where to look; both understand the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule.installation.wanted import Sources


def source_options(sources: Sources) -> list[str]:
    """Return the options for an installer."""
    words = ["--index-url", sources.index_url] if sources.index_url else []
    for link in sources.find_links:
        words += ["--find-links", link]
    return [*words, "--no-index"] if sources.no_index else words
