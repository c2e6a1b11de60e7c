"""The provider does what the contract asks of every provider."""

import json

import pytest

from ferrule_replay.provider import ReplayProvider
from ferrule_testkit import ProviderConformance


class TestReplayProvider(ProviderConformance):
    speaks_to = ""

    @pytest.fixture
    def there(self, context, workspace):
        said = {"type": "output_text", "text": "hello"}
        answer = {"type": "message", "role": "assistant", "content": [said]}
        (workspace / "talk.json").write_text(json.dumps([[answer]]))
        return context._replace(settings={"file": "talk.json"})

    def make(self, context):
        return ReplayProvider(context)
