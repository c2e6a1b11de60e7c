"""One agent, by what it asks of the thread that works for it."""

import anyio

from ferrule_agents.agent import Agent


class Thread:
    """A thread that is busy and takes nothing yet."""

    def __init__(self):
        self.thread = {"id": "t"}
        self.asked = []
        self.was_asked = anyio.Event()

    async def perform(self, op):
        self.asked.append(op["method"])
        self.was_asked.set()
        await anyio.sleep_forever()

    async def submit(self, op):
        self.asked.append(op["method"])


def test_input_that_is_given_up_on_its_way_begins_no_turn_that_nobody_ends():
    async def main():
        thread = Thread()
        async with anyio.create_task_group() as group:
            group.start_soon(Agent(thread, None).begin, [])
            await thread.was_asked.wait()
            group.cancel_scope.cancel()
        return thread.asked

    assert anyio.run(main) == ["turn/start", "turn/interrupt"]
