"""What the server tells about models, in wire form."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class EffortFacts(TypedDict):
    """A reasoning effort that a model knows."""

    reasoningEffort: str
    description: str


class ModelFacts(TypedDict):
    """A model that can be chosen."""

    id: str
    model: str
    displayName: str
    description: str
    hidden: bool
    isDefault: bool
    defaultReasoningEffort: str
    supportedReasoningEfforts: list[EffortFacts]
    inputModalities: NotRequired[list[str]]
