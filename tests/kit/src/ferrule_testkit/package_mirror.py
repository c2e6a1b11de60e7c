"""A mirror of package registries on loopback, with one small package for every tool.

For tests that run real package managers: nothing is fetched from anywhere else. Paths are those
that the tools ask for: `/simple` (pip, uv), `/npm` (npm, pnpm), `/cargo`, `/go` and `/maven`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

PACKAGE: Final = "lantern"
"""The name of the package that every registry has, in version 1.0.0."""
_MODULE: Final = f"example.com/{PACKAGE}"
_TIME: Final = "2026-01-01T00:00:00Z"


class PackageMirror:
    """What is served, and what was asked for."""

    def __init__(self, port: int, npm_scripts: Mapping[str, str]) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[str] = []
        self._pages = {
            **_simple(),
            **_npm(self.url, npm_scripts),
            **_cargo(self.url),
            **_go(),
            **_maven(),
        }

    def page(self, path: str) -> bytes | None:
        """Return what stands at a path."""
        self.asked.append(path)
        return self._pages.get(path.partition("?")[0].rstrip("/"))


@contextmanager
def package_mirror(npm_scripts: Mapping[str, str] | None = None) -> Iterator[PackageMirror]:
    """Serve the mirror; the scripts are those of the npm package, such as `postinstall`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    mirror = PackageMirror(server.server_address[1], npm_scripts or {})
    server.RequestHandlerClass = partial(_Handler, mirror)  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield mirror
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, mirror: PackageMirror, *arguments: object) -> None:
        self._mirror = mirror
        super().__init__(*arguments)  # pyright: ignore[reportArgumentType]

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        page = self._mirror.page(self.path)
        self.send_response(HTTPStatus.NOT_FOUND if page is None else HTTPStatus.OK)
        body = page or b""
        self.send_header("Content-Type", _type_of(self.path, body))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: `asked` has it."""


def _type_of(path: str, body: bytes) -> str:
    if path.startswith("/simple") and not path.endswith(".whl"):
        return "text/html"
    return "application/json" if body.startswith(b"{") else "application/octet-stream"


def _simple() -> dict[str, bytes]:
    info = f"{PACKAGE}-1.0.0.dist-info"
    members = {
        f"{PACKAGE}.py": "LIGHT = True\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*members, f"{info}/RECORD"))
    wheel = _zipped(members)
    name = f"{PACKAGE}-1.0.0-py3-none-any.whl"
    link = f'<a href="/simple/files/{name}#sha256={hashlib.sha256(wheel).hexdigest()}">{name}</a>'
    page = f"<!DOCTYPE html><html><body>{link}</body></html>".encode()
    return {f"/simple/{PACKAGE}": page, f"/simple/files/{name}": wheel}


def _npm(url: str, scripts: Mapping[str, str]) -> dict[str, bytes]:
    manifest = {"name": PACKAGE, "version": "1.0.0", "main": "index.js", "scripts": dict(scripts)}
    archive = _tarred(
        {
            "package/package.json": json.dumps(manifest),
            "package/index.js": "module.exports = { light: true };\n",
        }
    )
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    at = f"/npm/{PACKAGE}/-/{PACKAGE}-1.0.0.tgz"
    version = {
        **manifest,
        "dist": {"tarball": url + at, "integrity": integrity},
        "hasInstallScript": bool(scripts),
    }
    document = {
        "name": PACKAGE,
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": version},
        "time": {"1.0.0": _TIME, "created": _TIME, "modified": _TIME},
    }
    return {f"/npm/{PACKAGE}": json.dumps(document).encode(), at: archive}


def _cargo(url: str) -> dict[str, bytes]:
    top = f"{PACKAGE}-1.0.0"
    archive = _tarred(
        {
            f"{top}/Cargo.toml": f'[package]\nname = "{PACKAGE}"\nversion = "1.0.0"\n'
            'edition = "2021"\n',
            f"{top}/src/lib.rs": "pub const LIGHT: bool = true;\n",
        }
    )
    entry = {
        "name": PACKAGE,
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(archive).hexdigest(),
        "features": {},
        "yanked": False,
    }
    return {
        "/cargo/config.json": json.dumps({"dl": f"{url}/cargo/crates"}).encode(),
        f"/cargo/{PACKAGE[:2]}/{PACKAGE[2:4]}/{PACKAGE}": json.dumps(entry).encode() + b"\n",
        f"/cargo/crates/{PACKAGE}/1.0.0/download": archive,
    }


def _go() -> dict[str, bytes]:
    top, at = f"{_MODULE}@v1.0.0", f"/go/{_MODULE}/@v"
    module = f"module {_MODULE}\n\ngo 1.19\n"
    code = f"package {PACKAGE}\n\nconst Light = true\n"
    return {
        f"{at}/list": b"v1.0.0\n",
        f"{at}/v1.0.0.info": json.dumps({"Version": "v1.0.0", "Time": _TIME}).encode(),
        f"{at}/v1.0.0.mod": module.encode(),
        f"{at}/v1.0.0.zip": _zipped({f"{top}/go.mod": module, f"{top}/{PACKAGE}.go": code}),
    }


def _maven() -> dict[str, bytes]:
    pom = (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>com.example</groupId><artifactId>{PACKAGE}</artifactId>"
        "<version>1.0.0</version><packaging>pom</packaging></project>"
    ).encode()
    at = f"/maven/com/example/{PACKAGE}/1.0.0/{PACKAGE}-1.0.0.pom"
    digest = hashlib.sha1(pom, usedforsecurity=False).hexdigest().encode()
    return {at: pom, f"{at}.sha1": digest}


def _zipped(members: Mapping[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return written.getvalue()


def _tarred(members: Mapping[str, str]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, text in members.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(text.encode())
            archive.addfile(facts, io.BytesIO(text.encode()))
    return written.getvalue()
