"""`ferrule app-server generate-json-schema` and `generate-ts`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_app_server.arguments import Options
    from ferrule_app_server.schemas.protocol import WireProtocol
    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_hookspecs.serving import RpcMethod


class SchemaError(FerruleError):
    """The schema cannot be written."""


def _documents(protocol: WireProtocol) -> Mapping[str, str]:
    from ferrule_app_server.schemas.documents import documents

    return documents(protocol)


def _modules(protocol: WireProtocol) -> Mapping[str, str]:
    from ferrule_app_server.schemas.typescript import modules

    return modules(protocol)


class _Writer(NamedTuple):
    """A sub-command that writes the protocol into a folder.

    Attributes:
        about: What it writes.
        files: Makes the files' texts by relative path.
    """

    about: str
    files: Callable[[WireProtocol], Mapping[str, str]]


_WRITERS: Final[Mapping[str, _Writer]] = MappingProxyType(
    {
        "generate-json-schema": _Writer(
            "Writes the JSON Schema of the protocol into a folder.", _documents
        ),
        "generate-ts": _Writer(
            "Writes the protocol's types for TypeScript into a folder.", _modules
        ),
    }
)


def run(argv: Sequence[str], host: Host, options: Options) -> int:
    """Run with the sub-command and its arguments; returns the exit code."""
    name, *rest = argv
    writer = _WRITERS[name]
    parser = argparse.ArgumentParser(
        prog=f"ferrule app-server {name}", description=writer.about, allow_abbrev=False
    )
    parser.add_argument("-o", "--out", metavar="DIR", required=True, help="the folder")
    parser.add_argument("--experimental", action="store_true", help="what is experimental as well")
    given = parser.parse_args(rest)
    from ferrule_app_server.schemas.protocol import wire_protocol

    added = _plugin_methods(host, options)
    _write(Path(given.out), writer.files(wire_protocol(added, experimental=given.experimental)))
    return 0


def _plugin_methods(host: Host, options: Options) -> Sequence[RpcMethod]:
    request = ConfigRequest(
        cwd=os.path.abspath(options.cwd or os.getcwd()),
        profile=options.profile,
        overrides=options.overrides,
    )

    async def gather(kernel: Kernel) -> Sequence[RpcMethod]:
        return await kernel.rpc_methods(kernel.config(request))

    return host.run(gather)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SchemaError(f"{folder}: the schema cannot be written: {error.strerror}") from error
    sys.stderr.write(f"{len(files)} files in {folder}\n")
