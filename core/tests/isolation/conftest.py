"""A stranger's tools, run in this process or in one of their own."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from kernel_plugins.speech import DONE, call, say

SAMPLES = Path(__file__).parent / "samples"


@dataclass
class Stranger:
    """A distribution `acme-apart` whose module is one of the samples."""

    folder: Path
    bench: object
    stage: object

    def install(self, sample, tools, *, manifest="", isolation="process", more=""):
        """Make the checkout; `isolation` goes into the user's configuration, empty for nothing."""
        package = self.folder / "src" / f"acme_{sample}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text((SAMPLES / f"{sample}.py").read_text())
        if manifest:
            (package / "ferrule.toml").write_text(manifest)
        points = "\n".join(f'{name} = "acme_{sample}:{kind}"' for name, kind in tools.items())
        (self.folder / "pyproject.toml").write_text(
            '[project]\nname = "acme-apart"\nversion = "1.0"\n'
            f'[project.entry-points."ferrule.tools"]\n{points}\n'
        )
        environ = self.bench.host.environ
        environ["FERRULE_DEV_PLUGIN"] = os.pathsep.join(
            {*environ["FERRULE_DEV_PLUGIN"].split(os.pathsep), str(self.folder)}
        )
        table = f'[plugins.isolation]\nacme-apart = "{isolation}"\n' if isolation else ""
        config = self.bench.host.home / "config.toml"
        config.write_text(f"{config.read_text()}\n{table}\n{more}\n")

    def answers(self, *calls, **options):
        """Have the model make calls, one after the other; returns what it read of each."""
        ids = [f"c{number}" for number, _ in enumerate(calls)]
        for id_, (name, arguments) in zip(ids, calls, strict=True):
            self.stage.turns.append([call(name, arguments, id_), DONE])
        self.stage.turns.append([*say("ok"), DONE])
        self.bench.turn(**options)
        read = self.bench.outputs(self.stage)
        return [read[id_] for id_ in ids]

    @property
    def warnings(self):
        """What the session told its user."""
        return [params["message"] for params in self.bench.of("warning")]


@pytest.fixture
def stranger(tmp_path, bench, stage, monkeypatch):
    """A stranger's tools to be installed; what was imported of them is forgotten afterwards."""
    monkeypatch.setattr("ferrule.isolation.connection._ENDING_S", 120.0)  # machines may stall
    monkeypatch.setattr("ferrule.isolation.guest._OPENING_S", 120.0)
    monkeypatch.setattr("ferrule.isolation.tools._ANSWER_S", 120.0)
    path = list(sys.path)
    yield Stranger(tmp_path / "stranger", bench, stage)
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]
