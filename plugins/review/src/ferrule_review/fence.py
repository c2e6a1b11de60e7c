"""Marks text of strangers as data, between marks that the text itself cannot contain."""

from __future__ import annotations

import hashlib


def fenced(name: str, text: str) -> str:
    """Put a text between an opening and a closing mark.

    The marks carry a digest of the text, so that nothing in it can close them early, and the same
    text always gives the same prompt.
    """
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"<{name} mark={digest}>\n{text}\n</{name} mark={digest}>"
