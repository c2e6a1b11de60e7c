"""Parts of messages and of tool outputs as content blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule_hookspecs.history import ContentPart

Block = dict[str, object]

_DATA_URL: Final = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=]+)")
_IMAGE_TYPES: Final = {
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/png": "image/png",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}


def text_block(text: str) -> list[Block]:
    """A block of text; none for blank text, which the API refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def blocks_of(parts: Iterable[ContentPart]) -> list[Block]:
    """Texts and images of the user or of a tool."""
    blocks: list[Block] = []
    for part in parts:
        url = part.get("image_url")
        if url is not None:
            blocks.append(_image_block(url))
        else:
            blocks += text_block(text_of(part))
    return blocks


def texts_of(parts: Iterable[ContentPart]) -> list[Block]:
    """Texts alone, for roles that have no images; an image leaves a word in its place."""
    return [
        block
        for part in parts
        for block in text_block("(an image)" if "image_url" in part else text_of(part))
    ]


def text_of(part: ContentPart) -> str:
    """The text of a part, or the words of a refusal."""
    return part.get("text") or part.get("refusal") or ""


def _image_block(url: str) -> Block:
    if url.startswith("https://"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    found = _DATA_URL.fullmatch(url)
    media_type = _IMAGE_TYPES.get(found[1].lower()) if found else None
    if found and media_type:
        source = {"type": "base64", "media_type": media_type, "data": found[2]}
        return {"type": "image", "source": source}
    kind = f"of the type {found[1]}" if found else "at an address the model cannot reach"
    return {"type": "text", "text": f"(an image {kind})"}
