"""The tool `view_image`: puts an image file before the model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ToolArgumentError, ToolError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.items import ImageViewItem
    from ferrule_hookspecs.sandbox import FileSystem

MAX_BYTES: Final = 20 * 1024 * 1024
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "The image file."}},
    "required": ["path"],
    "additionalProperties": False,
}


class ViewImage(Tool):
    """Reads an image through the sandbox; changes nothing."""

    name = "view_image"
    description = (
        "Shows you an image file of this machine (PNG, JPEG, GIF or WebP). "
        "Use it only where seeing the image helps with the task."
    )
    parallel = True
    read_only = True

    def schema(self) -> FunctionSchema:
        """Only the path."""
        return FunctionSchema(self.name, self.description, _PARAMETERS)

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the path."""
        path = arguments.get("path")
        if not isinstance(path, str) or not path or "\0" in path:
            raise ToolArgumentError("failed to parse function arguments: missing field `path`")
        return {"path": path}

    def item(self, call: ToolCall, cwd: str) -> ImageViewItem:
        """Which image is looked at."""
        return {"type": "imageView", "id": call.call_id, "path": _path(call, cwd)}

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Read the image and hand it over as it is."""
        path = _path(call, context.cwd)
        data = await _read(context.sandbox.files, path)
        kind = image_type(data)
        if kind is None:
            raise ToolError("unable to process image: invalid or unsupported image data")
        return ToolResult(
            [{"type": "input_image", "image_url": _data_url(kind, data), "detail": "original"}]
        )


def image_type(data: bytes) -> str | None:
    """Tell the type of an image by its first bytes; None for anything else."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _path(call: ToolCall, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, cast("str", call.arguments["path"])))


async def _read(files: FileSystem, path: str) -> bytes:
    try:
        stat = await files.stat(path)
        if stat is None:
            raise ToolError(
                f"unable to locate image at `{path}`: No such file or directory (os error 2)"
            )
        if stat.kind != "file":
            raise ToolError(f"image path `{path}` is not a file")
        if stat.size > MAX_BYTES:
            raise ToolError(
                f"unable to process image: {stat.size} bytes are more than the {MAX_BYTES} allowed"
            )
        return await files.read(path, limit=MAX_BYTES)
    except OSError as error:
        raise ToolError(
            f"unable to read image at `{path}`: {error.strerror} (os error {error.errno})"
        ) from error


def _data_url(kind: str, data: bytes) -> str:
    from base64 import b64encode

    return f"data:{kind};base64,{b64encode(data).decode('ascii')}"
