"""Ten thousand messages that are wrong in some way: each is answered, and the server lives on."""

from __future__ import annotations

import json
import random

import anyio
import pytest

from ferrule_app_server.catalogue import METHODS
from ferrule_testkit.protocol_frames import BUNDLE

COUNT = 10_000
DANGEROUS = ("command/exec", "process/", "fs/", "account/login", "config/", "skills/", "mcpServer/")
"""What might do something, or wait for somebody, where a wrong message is right by chance."""
VALUES = (
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    ["x"],
    {"type": "text"},
    "x" * 9000,
)


def names_of_parameters():
    if not BUNDLE.exists():
        return dict.fromkeys(METHODS, ("threadId", "cursor", "input"))
    definitions = json.loads(BUNDLE.read_text())["definitions"]
    found = {}
    for branch in definitions["ClientRequest"]["oneOf"]:
        name = branch["properties"]["method"]["enum"][0]
        reference = branch["properties"].get("params", {}).get("$ref", "")
        schema = definitions
        for part in reference.split("/")[2:]:
            schema = schema[part]
        found[name] = tuple(schema.get("properties", ())) if reference else ()
    return found


def wrong_messages(seed):
    """Yield texts, and the id under which each is answered; None where it has none."""
    chance = random.Random(seed)
    names = names_of_parameters()
    safe = [name for name in names if not name.startswith(DANGEROUS) and name != "initialize"]
    for number in range(1, COUNT + 1):
        method = chance.choice(safe)
        params = {name: chance.choice(VALUES) for name in names[method]}
        whole = json.dumps({"id": number, "method": method, "params": params})
        match chance.randrange(8):
            case 0:
                yield whole[: chance.randrange(1, len(whole) - 1)], None
            case 1:
                at = chance.randrange(1, len(whole) - 1)
                yield whole[:at] + chance.choice('\x00"{}[],:') + whole[at:], ...
            case 2:
                yield json.dumps([json.loads(whole)]), None
            case 3:
                odd = chance.choice([None, 1.5, [], {}, True])
                yield json.dumps({"id": odd, "method": method, "params": params}), None
            case 4:
                yield json.dumps({"id": number, "method": method + "x", "params": params}), number
            case 5:
                odd = chance.choice([[], "x", 5, True])
                yield json.dumps({"id": number, "method": method, "params": odd}), number
            case _:
                yield whole, number


@pytest.mark.parametrize("seed", [1])
def test_every_wrong_message_is_answered_and_none_does_harm(serve, seed):
    async def talk(hub):
        client, other = hub.connect(is_checked=False), await hub.client()
        await client.initialize(experimentalApi=True)
        thread_id = await other.thread()
        expected, anonymous = set(), 0
        for text, number in wrong_messages(seed):
            await client.connection.receive(text.encode("utf-8", "surrogatepass"))
            if number is None:
                anonymous += 1
            elif number is not ...:
                expected.add(number)
        client.next_id = COUNT + 1
        with anyio.fail_after(120):
            await client.call("thread/loaded/list", {})
        await client.connection.drain()
        replies = [frame for frame in client.frames if "method" not in frame]
        answered = {frame["id"] for frame in replies}
        assert expected <= answered
        assert sum(frame["id"] is None for frame in replies) >= anonymous
        broken = [frame for frame in replies if frame.get("error", {}).get("code") == -32603]
        assert broken == []
        assert (await other.call("thread/read", {"threadId": thread_id}))["thread"]

    serve(talk)
