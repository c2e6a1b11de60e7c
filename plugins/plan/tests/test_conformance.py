"""Both tools do what the contract asks of every tool."""

from ferrule_plan.questions import RequestUserInput
from ferrule_plan.tool import UpdatePlan
from ferrule_testkit import ToolConformance


class TestUpdatePlan(ToolConformance):
    arguments = {"plan": [{"step": "one", "status": "pending"}]}
    wrong = [{"plan": [{"step": "one", "status": "soon"}]}]

    def make(self, context):
        return UpdatePlan(context)


class TestRequestUserInput(ToolConformance):
    arguments = {
        "questions": [
            {
                "id": "color",
                "header": "Color",
                "question": "Which color?",
                "options": [
                    {"label": "Red", "description": "Warm"},
                    {"label": "Blue", "description": "Cold"},
                ],
            }
        ]
    }
    answer = {"answers": {"color": {"answers": ["Red"]}}}
    wrong = [{"questions": "what?"}]

    def make(self, context):
        return RequestUserInput(context)
