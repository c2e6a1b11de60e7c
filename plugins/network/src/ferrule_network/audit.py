"""What a proxy did, one record per decision and one per connection that ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ferrule_network.rule import Decision, Target


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One record.

    Attributes:
        kind: allowed before connecting, refused, failed where the host could not be reached, and
            closed at the end of what was allowed.
        command: Whose it was, as the caller of the proxy calls it; empty where nobody's credential
            was shown.
        target: What was asked for; None where the request could not be read.
        decision: What the policy said; `ask` where somebody was asked.
        rule: The rule that decided; empty where there is none.
        reason: Why, in words.
        address: The address that was connected to; empty for none.
        sent: Bytes to the host; counted when it closed.
        received: Bytes from the host.
    """

    kind: Literal["allowed", "refused", "failed", "closed"]
    command: str
    target: Target | None = None
    decision: Decision = "deny"
    rule: str = ""
    reason: str = ""
    address: str = ""
    sent: int = 0
    received: int = 0


Audit = Callable[[AuditEvent], None]
