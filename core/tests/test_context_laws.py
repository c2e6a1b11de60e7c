"""What holds of the context however a thread goes, tried on random threads.

The beginning stays byte for byte; what was sent before stays as long as nothing takes it away; and
the last word on every fact is the truth, however often it changed, whatever was taken back,
shortened or closed in between.
"""

import json
import random
import re

import pytest
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.hooks import ContextFragment, ContextUpdate

LAST = {
    "cwd": re.compile(r"<cwd>(.*?)</cwd>"),
    "approval": re.compile(r"Approvals: ([\w-]+)\."),
    "sandbox": re.compile(r"Sandbox: (\w+)\."),
    "house": re.compile(r"House rule (\d+)\."),
}
APPROVALS = ("never", "on-request", "untrusted")
SANDBOXES = ("readOnly", "workspaceWrite", "dangerFullAccess")


class House:
    """A plugin's text that changes."""

    def __init__(self, stage):
        self.number = "0"
        fragment = [ContextFragment("House rule 0.", key="house", state="0")]
        stage.hooks["ferrule_context_fragments"] = fragment
        stage.hooks["ferrule_context_updates"] = self.updates

    def updates(self, context, told):
        if told.get("house") == self.number:
            return None
        return [ContextUpdate("house", self.number, f"House rule {self.number}.")]


class Story:
    """A thread that random things happen to."""

    def __init__(self, bench, stage, dice):
        self.bench, self.stage, self.dice = bench, stage, dice
        self.house = House(stage)
        self.truth = {"cwd": str(bench.workspace), "approval": "never", "sandbox": "workspaceWrite"}
        self.before, self.turns = [], 0
        for number in range(3):
            (bench.workspace / f"sub{number}").mkdir()

    def changes(self):
        """Choose what changes with the next turn."""
        params = {}
        if self.dice.random() < 0.3:
            self.truth["cwd"] = str(self.bench.workspace / f"sub{self.dice.randrange(3)}")
            params["cwd"] = self.truth["cwd"]
        if self.dice.random() < 0.3:
            params["approvalPolicy"] = self.truth["approval"] = self.dice.choice(APPROVALS)
        if self.dice.random() < 0.3:
            self.truth["sandbox"] = self.dice.choice(SANDBOXES)
            params["sandboxPolicy"] = {"type": self.truth["sandbox"]}
        if self.dice.random() < 0.3:
            self.house.number = str(self.dice.randrange(100))
        return params

    async def turn(self, session, done):
        self.stage.turns.append([*say("yes"), DONE])
        await self.bench.start(session, **self.changes())
        await self.bench.until("turn/completed", done)
        self.turns += 1
        self.check()

    def check(self):
        items = [json.dumps(item) for item in self.stage.requests[-1].input]
        assert items[: len(self.before)] == self.before
        self.before = items
        said = "\n".join(items)
        for name, value in (self.truth | {"house": self.house.number}).items():
            assert LAST[name].findall(said)[-1] == value, name

    async def live(self, session):
        """Let a few things happen until the thread is closed."""
        done = 0
        self.truth["cwd"] = str(self.bench.workspace)  # where a thread is opened, it works
        for _ in range(self.dice.randint(2, 6)):
            done += 1
            await self.turn(session, done)
            what = self.dice.random()
            if what < 0.2:
                done += 1
                await self.bench.perform(session, "thread/compact/start")
                await self.bench.until("turn/completed", done)
                self.before, self.turns = self.before[:3], self.turns + 1
            elif what < 0.4 and self.turns > 1:
                await self.bench.perform(session, "thread/rollback", numTurns=1)
                self.before, self.turns = self.before[:3], self.turns - 1
        self.bench.events.clear()


@pytest.mark.parametrize("seed", range(8))
def test_the_last_word_is_the_truth_and_the_beginning_stays(bench, stage, seed):
    bench.configure('compactor = "staged"')
    story = Story(bench, stage, random.Random(seed))
    thread = None
    for _ in range(4):
        thread = bench.run(story.live, resume=thread, inherits=True).thread["id"]
        bench.events.clear()
    assert len({json.dumps(each.input[:3]) for each in stage.requests}) == 1
