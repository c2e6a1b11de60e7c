"""An image reaches the model whole; anything else is refused in plain words."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import anyio
import pytest

from ferrule.files import LocalFiles
from ferrule_hookspecs import PluginContext, ResolvedPolicy, ToolArgumentError, ToolCall, ToolError
from ferrule_hookspecs.tools import SandboxDeniedError
from ferrule_view_image.tool import MAX_BYTES, ViewImage

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MISSING = "unable to locate image at `{path}`: No such file or directory (os error 2)"


@dataclass
class Sandbox:
    files: LocalFiles


@dataclass
class Context:
    cwd: str
    sandbox: Sandbox


@pytest.fixture
def tool(tmp_path):
    return ViewImage(PluginContext(home=tmp_path, config={}))


@pytest.fixture
def look(tool, tmp_path):
    def run(path, deny_read=()):
        policy = ResolvedPolicy(
            "workspace-write", str(tmp_path), deny_read=deny_read, unconfined=not deny_read
        )
        context = Context(str(tmp_path), Sandbox(LocalFiles(policy)))
        call = ToolCall("c", "view_image", tool.normalize({"path": path}), "{}", "function")
        return anyio.run(tool.run, call, context).output

    return run


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a rest", "image/gif"),
        (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
    ],
    ids=["png", "jpeg", "gif", "webp"],
)
def test_an_image_is_handed_over_byte_for_byte(look, tmp_path, data, kind):
    (tmp_path / "p").write_bytes(data)
    (part,) = look("p")
    prefix = f"data:{kind};base64,"
    assert part["type"] == "input_image"
    assert part["detail"] == "original"
    assert part["image_url"].startswith(prefix)
    assert base64.b64decode(part["image_url"].removeprefix(prefix)) == data


def test_a_missing_file_is_named(look, tmp_path):
    with pytest.raises(ToolError) as error:
        look("nope.png")
    assert str(error.value) == MISSING.format(path=tmp_path / "nope.png")


@pytest.mark.parametrize("data", [b"", b"not an image", b"RIFF....WAVE", b"<svg/>"])
def test_anything_else_is_not_an_image(look, tmp_path, data):
    (tmp_path / "t.png").write_bytes(data)
    with pytest.raises(ToolError, match="invalid or unsupported image data"):
        look("t.png")


def test_a_folder_is_not_an_image(look):
    with pytest.raises(ToolError, match="is not a file"):
        look(".")


def test_a_huge_file_is_not_read(look, tmp_path):
    with (tmp_path / "big.png").open("wb") as file:
        file.write(PNG)
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ToolError, match=f"more than the {MAX_BYTES} allowed"):
        look("big.png")


def test_what_the_policy_hides_stays_hidden(look, tmp_path):
    (tmp_path / "secret.png").write_bytes(PNG)
    with pytest.raises(SandboxDeniedError):
        look("secret.png", deny_read=(str(tmp_path / "secret.png"),))


@pytest.mark.parametrize("arguments", [{}, {"path": 3}, {"path": ""}, {"path": "a\0b"}])
def test_a_call_without_a_path_is_refused(tool, arguments):
    with pytest.raises(ToolArgumentError, match="missing field `path`"):
        tool.normalize(arguments)


def test_the_item_names_the_absolute_path(tool):
    call = ToolCall("c", "view_image", {"path": "a/../p.png"}, "{}", "function")
    assert tool.item(call, "/ws") == {"type": "imageView", "id": "c", "path": "/ws/p.png"}
