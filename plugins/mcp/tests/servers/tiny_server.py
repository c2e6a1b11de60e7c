"""The smallest server: `python -S -I tiny_server.py STARTS` notes its pid, answers, may crash."""

import json
import os
import sys

with open(sys.argv[1], "a") as starts:
    starts.write(f"{os.getpid()}\n")
for line in sys.stdin:
    asked = json.loads(line)
    method, result = asked.get("method"), {}
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "tiny", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [{"name": "crash", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        os.abort()
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
