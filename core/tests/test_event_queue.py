"""The outgoing queue keeps order, never loses a start or completion, and merges only deltas."""

import anyio

from ferrule.event_queue import EventQueue


def delta(text, item="m1"):
    params = {"threadId": "t", "turnId": "u", "itemId": item, "delta": text}
    return {"method": "item/agentMessage/delta", "params": params}


def completed(item):
    params = {
        "threadId": "t",
        "turnId": "u",
        "item": {"type": "agentMessage", "id": item, "text": ""},
    }
    return {"method": "item/completed", "params": params}


def read_all(queue):
    async def read():
        return [event async for event in queue.read()]

    queue.close()
    return anyio.run(read)


def test_events_come_out_in_order():
    queue = EventQueue()
    for number in range(5):
        queue.put(completed(f"m{number}"))

    assert [event["params"]["item"]["id"] for event in read_all(queue)] == [
        "m0",
        "m1",
        "m2",
        "m3",
        "m4",
    ]


def test_a_slow_reader_gets_merged_deltas_and_every_completion():
    queue = EventQueue()
    for number in range(2000):
        queue.put(delta("x"))
        if number % 500 == 499:
            queue.put(completed(f"m{number}"))

    events = read_all(queue)

    assert sum(len(e["params"]["delta"]) for e in events if "delta" in e["params"]) == 2000
    assert sum(e["method"] == "item/completed" for e in events) == 4
    assert len(events) < 50


def test_a_reader_that_keeps_up_gets_every_delta_as_it_came():
    queue = EventQueue()
    for text in ("a", "b", "c"):
        queue.put(delta(text))

    assert [e["params"]["delta"] for e in read_all(queue)] == ["a", "b", "c"]


def test_deltas_of_different_items_stay_apart():
    queue = EventQueue()
    for number in range(100):
        queue.put(completed(f"m{number}"))
    for event in (delta("a", "m1"), delta("b", "m2"), delta("c", "m2"), delta("d", "m1")):
        queue.put(event)

    texts = [e["params"]["delta"] for e in read_all(queue) if "delta" in e["params"]]
    assert texts == ["a", "bc", "d"]


def test_a_producer_waits_while_the_reader_is_far_behind():
    order = []

    async def produce(queue):
        for number in range(1500):
            queue.put(completed(f"m{number}"))
            await queue.room()
        order.append("all put")
        queue.close()

    async def main():
        queue = EventQueue()
        async with anyio.create_task_group() as group:
            group.start_soon(produce, queue)
            await anyio.wait_all_tasks_blocked()
            order.append("reader begins")
            return [event async for event in queue.read()]

    assert len(anyio.run(main)) == 1500
    assert order == ["reader begins", "all put"]


def test_all_producers_go_on_when_there_is_room_again():
    async def produce(queue, done):
        await queue.room()
        done.append(True)

    async def main():
        queue, done = EventQueue(), []
        for number in range(512):
            queue.put(completed(f"m{number}"))
        with anyio.move_on_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(produce, queue, done)
                await anyio.wait_all_tasks_blocked()
                reader = queue.read()
                for _ in range(400):
                    await anext(reader)
                await reader.aclose()
        return len(done)

    assert anyio.run(main) == 3
