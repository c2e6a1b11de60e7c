"""The reviewer does what the contract asks of every reviewer, whatever its program answers."""

import json

from ferrule_reviewer_command.reviewer import CommandReviewer
from ferrule_testkit import ReviewerConformance


def program(answer):
    return {"command": ["sh", "-c", f"cat > /dev/null; echo '{json.dumps(answer)}'"]}


class Answered(ReviewerConformance):
    def make(self, context):
        return CommandReviewer(context)


class TestAProgramThatAccepts(Answered):
    settings = program({"decision": "accept", "reason": "it is a test"})


class TestAProgramThatDeclines(Answered):
    settings = program({"decision": "decline", "reason": "it is a test"})


class TestAProgramThatMakesNoSense(Answered):
    settings = {**program({"decision": "perhaps"}), "on_error": "user"}
