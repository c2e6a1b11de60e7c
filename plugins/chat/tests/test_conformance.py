"""The provider does what the contract asks of every provider."""

from ferrule_chat.provider import ChatProvider
from ferrule_testkit import ProviderConformance


class TestChatProvider(ProviderConformance):
    speaks_to = "chat"
    model = "m1"
    keeps_reasoning = False

    def make(self, context):
        return ChatProvider(context)
