"""What the kernel calls: says how changes are reviewed. Loads nothing before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from ferrule_hookspecs.change_review import ReviewRefusal, ReviewTarget, ReviewTask
    from ferrule_hookspecs.plugins import PluginContext


@hookimpl
async def ferrule_review_task(
    target: ReviewTarget, context: PluginContext
) -> ReviewTask | ReviewRefusal:
    """Look at what is to be reviewed and write the task for the model."""
    from ferrule_review.task import review_task

    return await review_task(target, context)
