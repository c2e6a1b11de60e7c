"""A module that is hostile when it is imported harms its own process, and the user is told once."""

import pytest

from ferrule_testkit.processes import survivors

MANIFEST = '[capabilities]\nenvironment = ["HOSTILE", "LEFT_BEHIND"]'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ("raises", "cannot be imported: RuntimeError: no such luck"),
        ("exits", "cannot be imported: SystemExit: 3"),
        ("ends", "its process was ended: it ended by itself (exit code 3)"),
        ("crashes", "its process was ended: it was killed by SIGSEGV"),
        ("hangs", "it did not answer `open` within 10 s"),
        ("lies", "the tool calls itself 'exec_command', not 'hostile'"),
        ("wrong", "it sent an unknown kind of schema"),
        ("poses", "its schema calls it 'exec_command', not 'hostile'"),
    ],
)
def test_a_tool_that_cannot_be_had_is_left_out(stranger, bench, monkeypatch, deed, words):
    monkeypatch.setattr("ferrule.isolation.guest._OPENING_S", 10.0 if deed == "hangs" else 120.0)
    bench.host.environ["HOSTILE"] = deed
    stranger.install("hostile", {"hostile": "Hostile"}, manifest=MANIFEST)

    (answer,) = stranger.answers(("hostile", "{}"))

    assert answer == "unsupported call: hostile"
    (told,) = [text for text in stranger.warnings if "hostile" in text]
    assert words in told


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["prints", "forks", "patches"])
def test_a_tool_that_misbehaves_and_works_harms_nobody(stranger, bench, deed):
    bench.host.environ |= {"HOSTILE": deed, "LEFT_BEHIND": f"in {bench.folder}"}
    stranger.install("hostile", {"hostile": "Hostile"}, manifest=MANIFEST)

    assert stranger.answers(("hostile", "{}")) == ["done all the same"]
    assert survivors(f"LEFT_BEHIND=in {bench.folder}") == {}
