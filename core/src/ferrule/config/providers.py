"""The model providers that need no table of one's own, as data, and the choice among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.config.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ferrule.config.tables import Table

OSS: Final = "oss"
"""Stands for the provider that `oss_provider` names."""
_DEFAULT_OSS: Final = "ollama"
_EMBEDDED_WEIGHTS: Final = "models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


def built_in_providers() -> Table:
    """Return the tables; a user's table of the same name changes single keys of them."""
    return {
        "openai": {
            "name": "OpenAI",
            "env_key": "OPENAI_API_KEY",
            "env_key_instructions": "Set it, sign in with `ferrule login`, name another "
            "model_provider, or run `ferrule try` for a small model that needs no key.",
            "requires_openai_auth": True,
            "wire_api": "responses",
        },
        "anthropic": _vendor("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
        | {"wire_api": "anthropic", "default_model": "claude-sonnet-5-5"},
        "ollama": _server("Ollama", 11434) | {"default_model": "gpt-oss:20b"},
        "lmstudio": _server("LM Studio", 1234) | {"default_model": "openai/gpt-oss-20b"},
        "llamacpp": _server("llama.cpp", 8080) | {"default_model": "default"},
        "vllm": _server("vLLM", 8000),
        "openrouter": _vendor("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        "deepseek": _vendor("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY")
        | {"default_model": "deepseek-chat"},
        "mistral": _vendor("Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY")
        | {"default_model": "devstral-medium-latest"},
        "groq": _vendor("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        "gemini": _vendor(
            "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
        ),
        "xai": _vendor("xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
        "local": {
            "name": "Embedded model",
            "wire_api": "local",
            "default_model": "qwen2.5-coder-1.5b-instruct",
        },
    }


def _vendor(name: str, base_url: str, env_key: str) -> Table:
    return {"name": name, "base_url": base_url, "env_key": env_key, "wire_api": "chat"}


def _server(name: str, port: int) -> Table:
    return {"name": name, "base_url": f"http://localhost:{port}/v1", "wire_api": "chat"}


def surroundings_layer(home: Path, environ: Mapping[str, str]) -> Layer:
    """Choose the embedded model where it was fetched and there is no key for the default."""
    values: Table = {}
    has_key = any(environ.get(name, "").strip() for name in ("OPENAI_API_KEY", "CODEX_API_KEY"))
    is_fetched = not has_key and (home / _EMBEDDED_WEIGHTS).is_file()
    if is_fetched and not (home / "auth.json").is_file():
        values["model_provider"] = "local"
    return Layer("surroundings", values, source="no OPENAI_API_KEY, and `ferrule local pull` ran")


def resolve_oss(values: Table) -> None:
    """Put the provider meant by `oss` in its place."""
    if values["model_provider"] == OSS:
        values["model_provider"] = values.get("oss_provider") or _DEFAULT_OSS
