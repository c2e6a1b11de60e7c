"""The provider does what the contract asks of every provider."""

from ferrule_anthropic.provider import AnthropicProvider
from ferrule_testkit import ProviderConformance


class TestAnthropicProvider(ProviderConformance):
    speaks_to = "anthropic"
    model = "claude-sonnet-4-5"

    def make(self, context):
        return AnthropicProvider(context)
