"""The provider does what the contract asks of every provider."""

from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit import ProviderConformance


class TestResponsesProvider(ProviderConformance):
    speaks_to = "responses"
    model = "gpt-5.5"

    def make(self, context):
        return ResponsesProvider(context)
