"""The recorded battery of sandbox probes, run through a launcher beside a run on the bare machine.

The battery lies outside of the repository, in `../shared/conformance/sandbox`; where it is missing
its tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCRIPT: Final = Path(__file__).parents[5] / "shared/conformance/sandbox/sandbox_battery.py"
POLICIES: Final[Mapping[str, Sequence[str]]] = {
    "ro": ["-s", "read-only"],
    "ww": ["-s", "workspace-write"],
    "net": ["-s", "workspace-write", "-c", "sandbox_workspace_write.network_access=true"],
    "extra": ["-s", "workspace-write", "--add-dir", "{extra}"],
    "dr": ["-s", "workspace-write", "--deny-read", "{secret}", "--deny-read", "{glob}"],
}
_ALLOWED_VERDICTS: Final = (None, *"AYZNL")


@dataclass(frozen=True)
class Battery:
    """Runs probes through `ferrule sandbox` with more options.

    Attributes:
        base: An empty folder outside of the temporary folders, which commands may write.
        options: Options of `ferrule sandbox` beside those of the policy.
        user: Number of the user to run as; None for the user of the tests.
        python: An interpreter which that user may execute and which has Ferrule.
    """

    base: Path
    options: Sequence[str] = ()
    user: int | None = None
    python: str = sys.executable

    def shortfalls(self, policy: str, only: str = "*") -> dict[str, str]:
        """Return what fails although the bare machine allows it, with verdict and detail."""
        bare = {probe: found["full"]["v"] for probe, found in self._run(None, only).items()}
        found = {probe: each[policy] for probe, each in self._run(policy, only).items()}
        if not found:
            raise ValueError(f"no probe is called {only!r}")
        return {
            probe: f"{each['v']} instead of {each['exp']}: {each['d']}"
            for probe, each in found.items()
            if each["ok"] is False
            and not (each["exp"] == "D" and bare.get(probe) not in _ALLOWED_VERDICTS)
        }

    def _run(self, policy: str | None, only: str) -> dict[str, dict[str, Any]]:
        output = self.base / f"{policy or 'bare'}.json"
        port = str(20_000 + os.getpid() % 20_000)
        chosen = ["--adapter", "none", "--policies", "full"]
        if policy is not None:
            chosen = ["--adapter", str(self._adapter(policy)), "--policies", policy]
        places = ["--base", str(self.base / "work"), "--json", str(output), "--port", port]
        self._give_away()
        subprocess.run(
            [self.python, str(SCRIPT), *chosen, "--only", only, *places],
            check=True,
            capture_output=True,
            env={**os.environ, "HOME": str(self.base)},
            cwd=self.base,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )
        return json.loads(output.read_text("utf-8"))["results"]

    def _adapter(self, policy: str) -> Path:
        home = self.base / "home"
        home.mkdir(exist_ok=True)
        (home / "auth.json").write_text("{}")
        launcher = [self.python, "-m", "ferrule", "sandbox", *self.options]
        adapter = {
            "name": "ferrule",
            "env": {"FERRULE_HOME": str(home)},
            "harness_home": str(home),
            "policies": {policy: [*launcher, *POLICIES[policy], "--"]},
        }
        path = self.base / "adapter.json"
        path.write_text(json.dumps(adapter))
        return path

    def _give_away(self) -> None:
        if self.user is not None:
            for path in (self.base, *self.base.rglob("*")):
                os.chown(path, self.user, self.user, follow_symlinks=False)
