"""An MCP server on stdin and stdout without any library, which misbehaves on request.

Arguments: `--slow SECONDS` before it answers, `--garbage` between its lines, `--deaf`: no answers,
`--starts FILE` appends a line at every start, `--ignore-end` does not end by itself, `--gate FILE`
waits until the file is there, `--words FILE` describes the tool `write` by what the file says,
`--modern` knows the newest protocol only.
"""

import json
import os
import signal
import subprocess
import sys
import time


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def send(message):
    if "--garbage" in sys.argv:
        sys.stdout.write("this is no message\n\n{\n")
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said):
    content = [{"type": "text", "text": said}]
    return {"content": content, "resultType": "complete"} if IS_MODERN else {"content": content}


def tool(name, annotations=None, **properties):
    described = {"name": name, "description": f"The tool {name}."}
    described["inputSchema"] = {"type": "object", "properties": properties}
    return described | ({} if annotations is None else {"annotations": annotations})


IS_MODERN = "--modern" in sys.argv
READS = {"readOnlyHint": True}
TOOLS = [
    tool("echo", READS, text={"type": "string"}),
    tool("write", None, text={"type": "string"}),
    tool("add", {"destructiveHint": False, "openWorldHint": False}),
    *(tool(name, READS) for name in ("env", "crash", "hang", "huge", "image", "fail", "refuse")),
    *(tool(name, READS) for name in ("grow", "ask", "ask_url", "sample", "roots", "progress")),
    tool("nonsense", READS),
    *(tool(name, READS) for name in ("child", "structured", "count", "log", "shrink", "alter")),
]
if option("--words") and os.path.exists(option("--words")):
    with open(option("--words")) as words:
        TOOLS[1]["description"] = words.read()
PROMPTS = [
    {
        "name": "greet",
        "description": "Says hello.",
        "arguments": [{"name": "who", "required": True}],
    }
]
waiting = {}
listeners = []
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def ask_client(method, params, request):
    waiting[1000 + request] = request
    send({"id": 1000 + request, "method": method, "params": params})


def call(request, name, arguments, token):
    if name == "echo":
        return text("echo: " + arguments.get("text", ""))
    if name == "env":
        return text(json.dumps({"env": dict(os.environ), "cwd": os.getcwd()}))
    if name == "crash":
        sys.stderr.write("it hurts\n")
        os._exit(3)
    if name == "hang":
        time.sleep(1000)
    if name == "huge":
        return text("x" * 20_000_000)
    if name == "image":
        return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
    if name == "fail":
        return {**text("it failed"), "isError": True}
    if name == "structured":
        return {**text("n is 1"), "structuredContent": {"n": 1}}
    if name == "grow":
        TOOLS.append(tool("grown", READS))
        told = [{"params": {"_meta": {SUBSCRIPTION: each}}} for each in listeners] or [{}]
        for each in told:
            send({"method": "notifications/tools/list_changed", **each})
        return text("grown")
    if name == "shrink":
        TOOLS[:] = [each for each in TOOLS if each["name"] != "echo"]
        PROMPTS.append({"name": "more"})
        send({"method": "notifications/prompts/list_changed"})
        send({"method": "notifications/resources/list_changed"})
        send({"method": "notifications/tools/list_changed"})
        return text("shrunk")
    if name == "alter":
        TOOLS[1] = tool("write", None, words={"type": "string"})
        send({"method": "notifications/tools/list_changed"})
        return text("altered")
    if name == "log":
        told = {"level": "warning", "logger": "plain", "data": {"said": "beware"}}
        send({"method": "notifications/message", "params": told})
        return text("logged")
    if name == "nonsense":
        return {"content": "not a list"}
    if name == "progress":
        for step in (1, 2):
            told = {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}
            send({"method": "notifications/progress", "params": told})
        return text("done")
    if name == "child":
        is_apart = arguments.get("apart", False)
        subprocess.Popen(["sleep", "1000"], start_new_session=is_apart, stdout=subprocess.DEVNULL)
        return text("started")
    if name == "count":
        return text(str(len(open(option("--starts")).readlines())))
    return text("done: " + name)


FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "greeting": {"type": "string", "default": "hi"}},
    "required": ["name"],
}
ASKS = {
    "ask": ("elicitation/create", {"message": "Who?", "requestedSchema": FORM}),
    "ask_url": (
        "elicitation/create",
        {"mode": "url", "message": "Sign in", "url": "https://a.test/", "elicitationId": "e1"},
    ),
    "sample": (
        "sampling/createMessage",
        {
            "systemPrompt": "Be brief.",
            "messages": [{"role": "user", "content": {"type": "text", "text": "What is 1+1?"}}],
            "maxTokens": 3,
        },
    ),
    "roots": ("roots/list", {}),
}


def answer(message):
    method, request = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if method is None:
        if request in waiting:
            said = json.dumps(message.get("result", message.get("error")), sort_keys=True)
            send({"id": waiting.pop(request), "result": text(said)})
    elif method == "initialize" and IS_MODERN:
        send({"id": request, "error": {"code": -32601, "message": "method not found"}})
    elif method == "server/discover":
        capabilities = {"tools": {"listChanged": True}}
        result = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
        send({"id": request, "result": result | MODERN})
    elif method == "subscriptions/listen":
        listeners.append(request)
        honoured = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: request}}
        send({"method": "notifications/subscriptions/acknowledged", "params": honoured})
    elif method == "initialize":
        info = {"name": "plain", "version": "1.0"}
        capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        send({"id": request, "result": result})
    elif method == "tools/list":
        more = MODERN if IS_MODERN else {}
        send({"id": request, "result": {"tools": TOOLS, **more}})
    elif method == "resources/list":
        send({"id": request, "result": {"resources": [{"uri": "plain://one", "name": "one"}]}})
    elif method == "resources/templates/list":
        templates = [{"uriTemplate": "plain://{x}", "name": "any"}]
        send({"id": request, "result": {"resourceTemplates": templates}})
    elif method == "resources/read":
        found = [{"uri": params["uri"], "text": "a note"}]
        is_broken = params["uri"] == "plain://broken"
        send({"id": request, "result": {"contents": "not a list" if is_broken else found}})
    elif method == "prompts/list":
        send({"id": request, "result": {"prompts": PROMPTS}})
    elif method == "prompts/get" and "who" not in (params.get("arguments") or {}):
        send({"id": request, "error": {"code": -32602, "message": "who is missing"}})
    elif method == "prompts/get":
        said = {"type": "text", "text": f"Say hello to {params['arguments']['who']}."}
        told = {"description": "Says hello.", "messages": [{"role": "user", "content": said}]}
        send({"id": request, "result": told})
    elif method == "tools/call" and params["name"] in ASKS:
        ask_client(*ASKS[params["name"]], request)
    elif method == "tools/call" and params["name"] == "refuse":
        send({"id": request, "error": {"code": -32000, "message": "not today"}})
    elif method == "tools/call":
        token = (params.get("_meta") or {}).get("progressToken")
        given = params.get("arguments") or {}
        send({"id": request, "result": call(request, params["name"], given, token)})
    elif request is not None:
        send({"id": request, "error": {"code": -32601, "message": "method not found"}})


if option("--starts"):
    with open(option("--starts"), "a") as starts:
        starts.write(f"{os.getpid()}\n")
if "--ignore-end" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
while option("--gate") and not os.path.exists(option("--gate")):
    time.sleep(0.01)
if option("--slow"):
    time.sleep(float(option("--slow")))
for line in sys.stdin:
    if "--deaf" not in sys.argv:
        answer(json.loads(line))
while "--ignore-end" in sys.argv:
    time.sleep(1000)
