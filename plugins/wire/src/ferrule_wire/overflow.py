"""Recognises that a request no longer fits into a model's context window, by the server's words."""

from __future__ import annotations

import re
from typing import Final

from ferrule_hookspecs.errors import ProviderError

_CONTEXT_FULL: Final = (
    "The conversation no longer fits into the model's context window. "
    "Start a new thread or clear earlier history before retrying."
)
_TELLTALES: Final = re.compile(
    "|".join(
        (
            r"context_length_exceeded",  # OpenAI, OpenRouter, Groq
            r"exceed_context_size_error",  # llama.cpp
            r"maximum context length",  # OpenAI, vLLM, OpenRouter, DeepSeek
            r"context[ _](?:length|size|window)[^.]{0,40}exceed",  # llama.cpp, LM Studio
            r"exceeds?[^.]{0,60}context[ _](?:length|size|window|limit)",  # llama.cpp, Ollama
            r"(?:prompt|input|request|conversation)[^.]{0,40} too (?:long|large for)",  # Mistral
            r"input token count[^.]{0,40} exceeds",  # Gemini
            r"maximum prompt length",  # xAI
            r"reduce the length of (?:the )?(?:messages|input|prompt)",  # Groq, OpenAI
            r"longer than the (?:model's )?context",  # Fireworks, LM Studio
            r"larger than the (?:model's )?(?:maximum )?context",
            r"trying to keep the first \d+ tokens when context",  # LM Studio
        )
    ),
    re.IGNORECASE,
)


def says_overflow(text: str) -> bool:
    """Whether a server's words mean that the request was too long for the model."""
    return _TELLTALES.search(text) is not None


def overflow(said: str, status: int | None = None) -> ProviderError:
    """Report that the history is too long; the kernel compacts it and tries again."""
    return ProviderError(_CONTEXT_FULL, kind="contextWindowExceeded", status=status, details=said)
