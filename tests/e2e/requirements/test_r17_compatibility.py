"""R17: whether a plugin fits is decided from its metadata before any import, and the message says
which side to upgrade."""

import json

import pytest

import ferrule


def test_r17_a_plugin_for_another_contract_or_python_is_told_and_never_imported(
    twin, hooks_package, ferrule_home, model_server, tmp_path
):
    marker = tmp_path / "imported"
    source = f"open({str(marker)!r}, 'w')\n"
    ranges = {"newer": ">=2,<3", "older": "<0.1", "prerelease": "<0.0.1rc1", "unread": ">=two"}
    for name, wanted in ranges.items():
        twin.put(hooks_package(name, source, requires=(f"ferrule-hookspecs{wanted}",)))

    listed = twin.run("plugins", "list", "--json")

    rows = json.loads(listed.stdout)["plugins"]
    found = {row["name"]: (row["state"], row["reason"]) for row in rows if row["name"] in ranges}
    installed = f"installed is {ferrule.__version__}; upgrade"
    assert {state for state, _ in found.values()} == {"incompatible"}
    assert (
        f"acme-newer 1.0 needs ferrule-hookspecs>=2,<3, {installed} ferrule-core and"
        in (found["newer"][1])
    )
    assert found["older"][1].endswith(f"{installed} acme-older")
    assert found["prerelease"][1].endswith(f"{installed} acme-prerelease")
    assert "which cannot be read" in found["unread"][1]
    assert not marker.exists()


@pytest.mark.slow
def test_r17_a_plugin_without_a_range_is_said_to_be_a_guess(twin, hooks_package):
    twin.put(hooks_package("vague", "", requires=()))
    shown = twin.run("plugins", "show", "acme-vague")
    assert "does not say which versions of ferrule-hookspecs it is made for" in shown.stdout
