"""An MCP server over HTTP that breaks off in the first call and knows the session no more.

`forgetful.py PORT FILE`; every call appends a line to the file.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CALLS = Path(sys.argv[2])
TOOL = {"name": "pay", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
FORGOTTEN = set()


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(404 if self.is_forgotten else 405)

    def do_DELETE(self):
        self.answer(200)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.is_forgotten:
            self.answer(404)
        elif "id" not in asked:
            self.answer(202)
        elif asked["method"] == "initialize":
            version = asked["params"]["protocolVersion"]
            info = {"name": "forgetful", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            self.answer(200, asked["id"], result)
        elif asked["method"] == "tools/list":
            self.answer(200, asked["id"], {"tools": [TOOL]})
        else:
            self.call(asked["id"])

    def call(self, request):
        with CALLS.open("a") as calls:
            calls.write("called\n")
        if len(CALLS.read_text().splitlines()) > 1:
            self.answer(200, request, {"content": [{"type": "text", "text": "paid"}]})
            return
        FORGOTTEN.add(self.headers["mcp-session-id"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"id: 1\nretry: 1\ndata:\n\n")
        self.close_connection = True

    @property
    def is_forgotten(self):
        return self.headers.get("mcp-session-id") in FORGOTTEN

    def answer(self, status, request=None, result=None):
        whole = {"jsonrpc": "2.0", "id": request, "result": result}
        body = b"" if request is None else json.dumps(whole).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", f"session-{len(FORGOTTEN)}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Door).serve_forever()
