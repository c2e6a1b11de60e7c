"""A chat in the browser: `uvicorn chat_page:app`, then http://127.0.0.1:8000. Reads, never writes.

Every page is a thread; the answer streams into it as server-sent events.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from ferrule_sdk import Ferrule, SdkError, Thread

PAGE = """<!doctype html><title>Ferrule</title>
<body style="font: 16px sans-serif; max-width: 45em; margin: 2em auto">
<div id=log style="white-space: pre-wrap"></div>
<form id=form><input id=prompt autofocus style="width: 100%; font: inherit"></form>
<script>
let thread = "";
form.onsubmit = async event => {
  event.preventDefault();
  const said = prompt.value; prompt.value = "";
  log.append("\\n> " + said + "\\n");
  const headers = {"Content-Type": "application/json"};
  const body = JSON.stringify({thread, said});
  const reply = await fetch("/say", {method: "POST", headers, body});
  thread = reply.headers.get("Thread");
  const lines = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "", part; !(part = await lines.read()).done;) {
    const events = (rest + part.value).split("\\n\\n"); rest = events.pop();
    for (const each of events) log.append(JSON.parse(each.slice(6)));
  }
};
</script>"""
threads: dict[str, Thread] = {}


async def page(_: Request) -> Response:
    """Show the page."""
    return HTMLResponse(PAGE)


async def say(request: Request) -> Response:
    """Stream the answer to what was said."""
    if request.headers.get("content-type") != "application/json":  # what other sites cannot send
        return Response(status_code=415)
    body = await request.json()
    ferrule: Ferrule = request.app.state.ferrule
    thread = threads.get(body["thread"]) or await ferrule.thread(
        sandbox="read-only", approval_policy="never"
    )
    threads[thread.id] = thread

    async def answer() -> AsyncIterator[str]:
        try:
            async for event in thread.stream(body["said"]):
                if event["method"] == "item/agentMessage/delta":
                    yield f"data: {json.dumps(event['params']['delta'])}\n\n"
        except SdkError as error:
            yield f"data: {json.dumps(f'[{error}]')}\n\n"

    return StreamingResponse(answer(), 200, {"Thread": thread.id}, "text/event-stream")


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Keep one kernel for all pages."""
    async with Ferrule() as app.state.ferrule:
        yield


routes = [Route("/", page), Route("/say", say, methods=["POST"])]
app = Starlette(routes=routes, lifespan=lifespan)
