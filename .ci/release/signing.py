"""Checksums of a release and the signature over them.

The signature is OpenSSH's (`ssh-keygen -Y sign`): it needs no service and no network, OpenSSH is on
every machine that has git, and keys may live in an agent or on a hardware token.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sbom import sha256
from tree import ReleaseError, run

if TYPE_CHECKING:
    from collections.abc import Sequence

SUMS: Final = "SHA256SUMS"
NAMESPACE: Final = "ferrule-release"
SIGNER: Final = "ferrule"


def write_sums(folder: Path, files: Sequence[Path]) -> Path:
    """Write the checksums in the form of `sha256sum`."""
    sums = folder / SUMS
    lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(files)]
    sums.write_text("".join(lines), "utf-8")
    return sums


def sign(sums: Path, key: Path) -> Path:
    """Sign a file; the key never leaves its place."""
    signature = sums.with_name(f"{sums.name}.sig")
    signature.unlink(missing_ok=True)
    run("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, sums, cwd=sums.parent)
    return signature


def verify(folder: Path, public_key: Path) -> int:
    """Check the signature and every file; returns how many files were checked.

    Raises:
        ReleaseError: Something was changed, is missing, or nobody vouches for it.
    """
    sums = folder / SUMS
    signature = folder / f"{SUMS}.sig"
    if not sums.is_file() or not signature.is_file():
        raise ReleaseError(f"{SUMS} and {SUMS}.sig are not both in {folder}")
    content = sums.read_bytes()
    _check_signature(content, signature, public_key)
    listed = dict(reversed(line.split("  ", 1)) for line in content.decode().splitlines())
    present = {path.name for path in folder.iterdir()} - {SUMS, signature.name}
    if unlisted := present - set(listed):
        raise ReleaseError(f"not covered by the signature: {', '.join(sorted(unlisted))}")
    for name, expected in listed.items():
        if not (folder / name).is_file():
            raise ReleaseError(f"{name} is missing")
        if sha256(folder / name) != expected:
            raise ReleaseError(f"{name} is not the file that was signed")
    return len(listed)


def _check_signature(content: bytes, signature: Path, public_key: Path) -> None:
    import subprocess

    with tempfile.TemporaryDirectory() as scratch:
        allowed = Path(scratch) / "allowed_signers"
        words = public_key.read_text("utf-8").split()[:2]
        allowed.write_text(f'{SIGNER} namespaces="{NAMESPACE}" {" ".join(words)}\n', "utf-8")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", SIGNER]
        command += ["-n", NAMESPACE, "-s", str(signature)]
        done = subprocess.run(command, input=content, capture_output=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise ReleaseError(f"the signature of {SUMS} does not hold: {told}")
