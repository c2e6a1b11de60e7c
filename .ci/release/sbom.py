"""The bill of materials: what a release is made of, as CycloneDX 1.5 JSON.

uv writes it from uv.lock, which has every dependency with the hashes of its files; here the files
of this release are added with theirs, and what would differ from run to run is made to depend on
the release alone.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tree import Tree, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMESPACE: Final = uuid.UUID("6b1f2a52-4b0e-5c57-9a7e-5f6d0a1c7d11")


def bill_of_materials(tree: Tree, files: Sequence[Path]) -> dict[str, Any]:
    """Describe all distributions of the workspace and everything they may bring along.

    Args:
        tree: The checkout.
        files: The wheels and source distributions of the release.
    """
    text = run(
        *("uv", "export", "--quiet", "--frozen", "--format", "cyclonedx1.5"),
        *("--all-packages", "--all-extras", "--no-dev"),
        cwd=tree.root,
    )
    bill: dict[str, Any] = json.loads(text)
    made = datetime.fromtimestamp(int(tree.commit_time), UTC)
    bill["metadata"]["timestamp"] = made.isoformat().replace("+00:00", "Z")
    root = bill["metadata"]["component"]
    root.setdefault("version", tree.version)
    for component in [root, *bill["components"]]:
        if _is_ours(component):
            _describe(component, tree.version, files)
    content = json.dumps({**bill, "serialNumber": ""}, sort_keys=True)
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, content)}"
    return bill


def _is_ours(component: dict[str, Any]) -> bool:
    return component["name"] == "ferrule" or component["name"].startswith("ferrule-")


def _describe(component: dict[str, Any], version: str, files: Sequence[Path]) -> None:
    name = component["name"]
    component["licenses"] = [{"license": {"id": "Apache-2.0"}}]
    component["purl"] = f"pkg:pypi/{name}@{version}"
    stem = f"{name.replace('-', '_')}-{version}"
    ours = {f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"}
    component["externalReferences"] = [
        {
            "type": "distribution",
            "url": file.name,
            "hashes": [{"alg": "SHA-256", "content": sha256(file)}],
        }
        for file in files
        if file.name in ours
    ]


def sha256(file: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
