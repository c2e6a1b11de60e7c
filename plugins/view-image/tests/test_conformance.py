"""The tool does what the contract asks of every tool."""

import base64

from ferrule_testkit import ToolConformance
from ferrule_view_image.tool import ViewImage

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class TestViewImage(ToolConformance):
    arguments = {"path": "{workspace}/dot.png"}
    files = {"dot.png": PNG}

    def make(self, context):
        return ViewImage(context)
