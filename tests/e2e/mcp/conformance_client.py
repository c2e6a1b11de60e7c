"""Ferrule's MCP client as the conformance suite starts it: `conformance_client.py URL`.

The scenario is named by `MCP_CONFORMANCE_SCENARIO`, and `MCP_CONFORMANCE_CONTEXT` brings what it
hands out. A person who agrees to everything stands in for the one with the browser.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import urllib.request
from pathlib import Path

import anyio

from ferrule.host import LocalHost
from ferrule_hookspecs.errors import FerruleError
from ferrule_mcp.questions import Caller
from ferrule_mcp.server import ToolRequest
from ferrule_mcp.server_settings import read_server
from ferrule_mcp.sign_in import Browser, sign_in
from ferrule_mcp.trial import lent

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
ROUNDS = 3
SECRET = "SUITE_CLIENT_SECRET"
ABOUT_US = "https://conformance-test.local/client-metadata.json"


def main(url):
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as folder:
        host = LocalHost(Path(folder), dict(os.environ))
        settings = read_server("suite", table(url, context), folder)
        host.run(lambda kernel: talk(kernel, host, settings, signs_in=scenario.startswith("auth/")))


def table(url, context):
    given = {"url": url}
    given["oauth"] = {"client_metadata_url": ABOUT_US}
    if "client_id" in context:
        given["oauth"] = {"client_id": context["client_id"]}
    if "client_secret" in context:
        given["oauth"]["client_secret_env_var"] = SECRET
        os.environ[SECRET] = context["client_secret"]
    return given


async def talk(kernel, host, settings, *, signs_in):
    """Call every tool; sign in where the server wants it, also for more than before."""
    for _ in range(ROUNDS):
        try:
            async with lent(kernel.runtime, host, settings) as server:
                connection = await server.opened()
                for tool in connection.manifest.tools:
                    name = str(tool["name"])
                    await server.call(
                        Caller("suite", "turn", agree), ToolRequest(name, ARGUMENTS.get(name, {}))
                    )
                return
        except FerruleError as error:
            if not (signs_in and "ferrule mcp login" in str(error)):
                raise
            sys.stderr.write(f"{error}\n")
        await sign_in(settings, host.home, Browser(visit), "file", os.environ)


async def agree(question):
    return {"action": "accept", "content": {}}


async def visit(url):
    """Do what a browser does whose user agrees."""

    def fetch():
        with urllib.request.urlopen(url) as answer:
            answer.read()

    await anyio.to_thread.run_sync(fetch)


if __name__ == "__main__":
    main(sys.argv[-1])
