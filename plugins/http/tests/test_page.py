"""The client for a page that the documentation shows works as it stands there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("node") is None, reason="it takes a JavaScript engine"),
]
PAGE = Path(__file__).parents[3] / "docs" / "transports.md"
TOKEN = "c0ffee" * 8
TALK = """
const heard = [];
const link = await connect(process.argv[2], async (message) => {
  heard.push(message.result);
  if (heard.length === 3) await link.close();
}, process.argv[3]);
for (const params of ["one", "Grüße 🦀", { three: 3 }])
  await link.send({ id: 1, method: "echo", params });
const end = await link.ended;
console.log(JSON.stringify(heard), /closed connection/.test(end.message));
"""


async def test_the_documented_client_talks_and_hears_the_end(serve, token_file, tmp_path):
    client = re.search(r"```js\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    script = tmp_path / "talk.mjs"
    script.write_text(client + TALK)
    options = {"ws-auth": "capability-token", "ws-token-file": str(token_file)}
    async with serve(options=options) as served:
        with anyio.fail_after(120):
            done = await anyio.run_process(
                ["node", str(script), served.url, TOKEN], check=False, stderr=subprocess.STDOUT
            )

    assert done.stdout.decode() == '["one","Grüße 🦀",{"three":3}] true\n'
