"""All distributions move in lock-step, and each is whole."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = sorted(
    path
    for pattern in ("core", "hookspecs", "plugins/*", "sandboxes/*", "reviewers/*", "tests/kit")
    for path in ROOT.glob(pattern)
    if (path / "pyproject.toml").is_file()
)

# No plugins, but what several plugins of one kind share.
LIBRARIES = {
    "ferrule-wire",
    "ferrule-confinement",
    "ferrule-gate",
    "ferrule-consult",
    "ferrule-processes",
}

# No plugin either: it stands on the kernel, for programs that bring no other front end.
SDK = "ferrule-sdk"


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("folder", MEMBERS, ids=lambda path: path.name)
def test_a_member_has_the_version_of_the_whole(folder):
    assert project(folder)["version"] == project(ROOT)["version"]


@pytest.mark.parametrize("folder", MEMBERS, ids=lambda path: path.name)
def test_a_member_is_whole(folder):
    assert (folder / "README.md").read_text().strip()
    assert (folder / "tests").is_dir()
    assert project(folder)["license"] == "Apache-2.0"
    assert project(folder)["license-files"] == ["LICENSE"]
    assert (folder / "LICENSE").resolve() == ROOT / "LICENSE"


def requirements(folder):
    """All that a distribution asks for, extras included."""
    facts = project(folder)
    extras = facts.get("optional-dependencies", {}).values()
    return [line for lines in (facts["dependencies"], *extras) for line in lines]


def test_the_meta_distribution_pins_every_part_it_names():
    version = project(ROOT)["version"]

    assert all(line.endswith(f"=={version}") for line in requirements(ROOT))


def test_the_whole_set_has_every_member():
    asked = {
        re.split(r"[\[=]", line)[0] for line in requirements(ROOT) + requirements(ROOT / "core")
    }
    shared = {"ferrule-hookspecs", "ferrule-testkit", *LIBRARIES}

    assert {project(folder)["name"] for folder in MEMBERS} - shared <= asked


@pytest.mark.parametrize(
    "folder",
    [
        path
        for path in MEMBERS
        if path.parent.name in ("plugins", "sandboxes", "reviewers")
        and project(path)["name"] != SDK
    ],
    ids=lambda path: path.name,
)
def test_a_plugin_depends_on_the_contract_and_no_other_part(folder):
    names = [re.split(r"[\[~>=<]", line)[0] for line in project(folder)["dependencies"]]

    assert {name for name in names if name.startswith("ferrule")} - LIBRARIES == {
        "ferrule-hookspecs"
    }
