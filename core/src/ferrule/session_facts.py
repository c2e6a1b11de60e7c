"""What holds for a session's next turns, as front ends and clients are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.policy import policy_mode
from ferrule_hookspecs.host import SessionFacts

if TYPE_CHECKING:
    from ferrule.session_parts import SessionParts, Settings
    from ferrule_hookspecs.events import ThreadSettings


def facts_of(parts: SessionParts, settings: Settings) -> SessionFacts:
    """Describe a session to its front end."""
    return SessionFacts(
        model=settings.model,
        model_provider=parts.provider_name,
        approval_policy=settings.approval_policy,
        sandbox_mode=policy_mode(settings.sandbox_policy),
        sandbox_policy=settings.sandbox_policy,
        writable_roots=settings.extra_roots,
        reviewer=settings.reviewer,
        reasoning_effort=settings.reasoning_effort,
        reasoning_summary=settings.reasoning_summary,
        cwd=settings.cwd,
        service_tier=settings.service_tier,
        instruction_sources=parts.instruction_sources,
    )


def wire_settings(parts: SessionParts, settings: Settings) -> ThreadSettings:
    """Describe what sticks to a thread in wire form."""
    return {
        "model": settings.model,
        "modelProvider": parts.provider_name,
        "cwd": settings.cwd,
        "approvalPolicy": settings.approval_policy,
        "approvalsReviewer": settings.reviewer,
        "sandboxPolicy": settings.sandbox_policy,
        "effort": settings.reasoning_effort,
        "summary": settings.reasoning_summary,
        "serviceTier": settings.service_tier,
        "collaborationMode": {
            "mode": "default",
            "settings": {
                "model": settings.model,
                "reasoning_effort": settings.reasoning_effort,
                "developer_instructions": None,
            },
        },
    }
