"""Distributions as small as may be, as an installer unpacks them or finds them in a wheel."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Distribution:
    """What an index would offer under a name.

    Attributes:
        name: The distribution.
        points: `group:name` with targets.
        files: Paths with contents.
        version: Its version.
        requires: What it needs of others.
        author: Who made it.
    """

    name: str
    points: Mapping[str, str]
    files: Mapping[str, str]
    version: str = "1.0"
    requires: tuple[str, ...] = ("ferrule-hookspecs>=0.1,<1",)
    author: str = "Acme Corp"

    def contents(self) -> dict[str, str]:
        """All files that an installer unpacks, by path."""
        info = f"{self._stem}.dist-info"
        metadata = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        metadata += ["Summary: A test plugin", f"Author: {self.author}"]
        metadata += [f"Requires-Dist: {each}" for each in self.requires]
        points = ""
        for key, target in self.points.items():
            group, _, name = key.partition(":")
            points += f"[{group}]\n{name} = {target}\n"
        found = {
            **self.files,
            f"{info}/METADATA": "\n".join(metadata) + "\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: ferrule-testkit\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/entry_points.txt": points,
        }
        record = "".join(f"{path},{_measures(text)}\n" for path, text in found.items())
        return {**found, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}

    def install(self, site: Path) -> None:
        """Unpack it into a site folder."""
        for name, text in self.contents().items():
            path = site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def wheel(self, folder: Path) -> Path:
        """Write a wheel into a folder."""
        folder.mkdir(exist_ok=True)
        path = folder / f"{self._stem}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in self.contents().items():
                archive.writestr(name, text)
        return path

    @property
    def _stem(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}"


def _measures(text: str) -> str:
    data = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()},{len(data)}"
