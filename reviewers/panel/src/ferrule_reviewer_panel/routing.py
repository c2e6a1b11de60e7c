"""Which plans a request comes under.

A request may concern several places and several rules. Each pair of them takes the first route that
matches, so that one harmless file in a patch never decides for the others; where that gives several
plans, all of them must accept.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_hookspecs.review import ReviewRequest
    from ferrule_reviewer_panel.settings import Plan, Route, Settings


def plans_for(settings: Settings, request: ReviewRequest) -> list[Plan]:
    """Return the plans that count, each once."""
    rules = [v.rule for v in request.verdicts.values() if v.decision == "ask"] or [""]
    plans = [
        next(
            (route.plan for route in settings.routes if _matches(route, request, place, rule)),
            settings.plan,
        )
        for place in _places(request)
        for rule in rules
    ]
    return list(dict.fromkeys(plans))


def _places(request: ReviewRequest) -> list[str]:
    """Where the call has its effect: what it changes, else where it runs and was asked for."""
    item = request.item
    places = [request.cwd]
    if item is not None and item["type"] == "fileChange" and item["changes"]:
        places = []
        for change in item["changes"]:
            places.append(change["path"])
            kind = change["kind"]
            if kind["type"] == "update" and (target := kind.get("move_path")):
                places.append(target)
    elif item is not None and item["type"] == "commandExecution":
        places.append(item["cwd"])
    absolute = (os.path.realpath(os.path.join(request.cwd, place)) for place in places)
    return list(dict.fromkeys(absolute))


def _matches(route: Route, request: ReviewRequest, place: str, rule: str) -> bool:
    return (
        (route.escalation is None or route.escalation is request.escalation)
        and _is_one(request.call.tool, route.tools)
        and _is_one(rule, route.rules)
        and (not route.directories or any(_is_in(place, folder) for folder in route.directories))
    )


def _is_one(text: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(text == one or fnmatchcase(text, one) for one in patterns)


def _is_in(place: str, folder: str) -> bool:
    return os.path.commonpath((place, folder)) == folder
