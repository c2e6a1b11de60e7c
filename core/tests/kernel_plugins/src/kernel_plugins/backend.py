"""A sandbox backend for tests that run no commands: it confines files by the kernel's evaluator."""

from __future__ import annotations

from typing import get_args

from ferrule_hookspecs.sandbox import Capabilities, Feature, Launch
from kernel_plugins import stage

FEATURES = frozenset(get_args(Feature))


class StagedBackend:
    name = "staged"

    def __init__(self, context) -> None:
        self.context = context

    def probe(self):
        stage.backends.append(self.name)
        return Capabilities(True, "a test backend", FEATURES - stage.unenforced)

    def prepare(self, policy, command):
        stage.commands.append(command)
        return Launch(command.argv, command.env, command.cwd)

    def classify(self, policy, result):
        return None

    def files(self, policy):
        return stage.hooks.get("files")

    async def aclose(self) -> None:
        return None
