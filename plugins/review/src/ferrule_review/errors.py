"""Why there is no review."""

from __future__ import annotations

from ferrule_hookspecs.errors import FerruleError


class CannotReviewError(FerruleError):
    """What is to be reviewed does not exist, or holds nothing; the message is for the user."""


class GitFailedError(FerruleError):
    """git failed or took too long."""
