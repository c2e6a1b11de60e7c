"""A twin of the environment that the tests run in, with a site folder of its own.

What is installed here counts as installed there, too; strangers' plugins are put beside it, as an
installer would, so that the real `ferrule` finds them and nobody else does.
"""

from __future__ import annotations

import shutil
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from ferrule_testkit.distribution import Distribution

HOOKS_HEAD = "from ferrule_hookspecs import Verdict, hookimpl\n"


@dataclass(frozen=True)
class Twin:
    """An environment like ours, and `ferrule` run from it."""

    folder: Path
    home: object

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    def put(self, package: Distribution) -> None:
        """Unpack a distribution as an installer would; another version of it goes."""
        for old in self.site.glob(f"{package.name.replace('-', '_')}-*.dist-info"):
            shutil.rmtree(old)
        package.install(self.site)

    def run(self, *arguments, **options):
        """Run `ferrule` in the temporary home."""
        home = self.home
        command = home.command
        words = [str(self.python), "-m", "ferrule"]
        object.__setattr__(home, "command", lambda given: [*words, *given])
        try:
            return home.run(*arguments, **options)
        finally:
            object.__setattr__(home, "command", command)

    def versions(self) -> dict[str, str]:
        """What is installed in the twin itself."""
        names = (path.name.removesuffix(".dist-info") for path in self.site.glob("*.dist-info"))
        return {name.rpartition("-")[0]: name.rpartition("-")[2] for name in names}

    def forget(self, module: str) -> None:
        """Take a distribution away, as where an environment is made anew without it."""
        for path in self.site.glob(f"{module}*"):
            shutil.rmtree(path)

    def begin_with(self, source: str) -> None:
        """Have every Python of the twin run some code first.

        By no `sitecustomize`, which some systems have themselves; the name comes last, when what
        is installed can be imported.
        """
        (self.site / "twin_begins.py").write_text(source)
        (self.site / "twin_begins.pth").write_text("import twin_begins\n")

    def give_pip(self) -> None:
        """Let `python -m pip` work, from the wheel that Python itself or its system brings."""
        ensurepip = pytest.importorskip("ensurepip")
        folders = [Path(ensurepip.__file__).parent / "_bundled"]
        if of_the_system := sysconfig.get_config_var("WHEEL_PKG_DIR"):
            folders.append(Path(of_the_system))
        wheels = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
        if not wheels:
            pytest.skip("this Python brings no pip")
        (self.site / "pip_of_python.pth").write_text(f"{wheels[-1]}\n")


@pytest.fixture
def twin(tmp_path: Path, ferrule_home) -> Twin:
    """An environment like ours, in which only the test installs."""
    folder = tmp_path / "twin"
    venv.create(folder, symlinks=True)
    made = Twin(folder, ferrule_home)
    ours = Path(sysconfig.get_path("purelib"))
    for path in ours.glob("*.dist-info"):
        shutil.copytree(path, made.site / path.name)  # uv does not follow links
    for path in ours.glob("*.pth"):
        (made.site / path.name).symlink_to(path)
    (made.site / "twin.pth").write_text(f"{ours}\n")
    ferrule_home.environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    ferrule_home.environ.pop("VIRTUAL_ENV", None)
    return made


@pytest.fixture
def hooks_package():
    """Make a distribution `acme-NAME` with one hook module."""

    def make(name: str, source: str, *, manifest: str = "", **options) -> Distribution:
        module = f"acme_{name}"
        files = {f"{module}/__init__.py": HOOKS_HEAD + source}
        files |= {f"{module}/ferrule.toml": manifest} if manifest else {}
        return Distribution(f"acme-{name}", {f"ferrule.plugins:{name}": module}, files, **options)

    return make
