"""Many threads with equal configurations share what follows from one."""

import anyio
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.host import ConfigRequest


def test_equal_configurations_are_one_until_a_file_changes(bench):
    request = ConfigRequest(cwd=str(bench.workspace))

    async def look(kernel):
        first, second = kernel.config(request), kernel.config(request)
        bench.set_key("model", '"another"')
        return first, second, kernel.config(request)

    first, second, third = bench.host.run(look)

    assert first is second
    assert (first.values["model"], third.values["model"]) == ("test-model", "another")


def test_plugins_are_settled_once_for_equal_values(bench):
    other = bench.folder / "other"
    for folder in (bench.workspace, other):
        (folder / ".git").mkdir(parents=True)

    async def look(kernel):
        configs = [kernel.config(ConfigRequest(cwd=str(cwd))) for cwd in (bench.workspace, other)]
        assert configs[0] is not configs[1]
        return [kernel.manager(config.values) for config in configs]

    first, second = bench.host.run(look)

    assert first is second


def test_threads_of_one_kernel_run_their_turns_at_once(bench, stage):
    threads = 25
    stage.turns.extend([*say("ok"), DONE] for _ in range(threads))
    completed = []

    async def one(kernel):
        session = await kernel.threads.start(bench.options(kernel))
        await bench.start(session)
        async for event in session.events():
            if event["method"] == "turn/completed":
                completed.append(event["params"]["turn"]["status"])
                break
        await session.close()

    async def main(kernel):
        async with anyio.create_task_group() as group:
            for _ in range(threads):
                group.start_soon(one, kernel)

    bench.host.run(main)

    assert completed == ["completed"] * threads
