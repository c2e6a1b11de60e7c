"""What a turn is started with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.review_turn import Review
    from ferrule.user_command import UserCommand
    from ferrule_hookspecs.errors import FerruleError
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.ops import TurnBudget


class Input(NamedTuple):
    """What a user sent at once, and by what name the client knows it."""

    content: Sequence[UserInput]
    client_id: str | None = None


class TurnJob(NamedTuple):
    """Why a turn is begun.

    Attributes:
        input: What the user sent; None for a turn that asks the model nothing.
        output_schema: JSON Schema the last message must follow.
        command: The user's own command, in a turn of its own.
        refusal: Why the turn cannot run.
        budget: What the client lets the turn spend, within what is configured.
        review: The review that is to be done.
    """

    input: Input | None
    output_schema: Mapping[str, object] | None = None
    command: UserCommand | None = None
    refusal: FerruleError | None = None
    budget: TurnBudget | None = None
    review: Review | None = None
