"""A view that can take files back learns of turns, and goes back before the history does."""

import pytest
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.errors import FerruleError


class Window:
    """A view of the real files that cannot take files back."""

    root = ""

    def command(self, command):
        return command

    def launch(self, launch):
        return launch

    async def aclose(self):
        pass


class Rewinding(Window):
    """A view that notes what it is asked for."""

    def __init__(self, *, failure=None, warning=""):
        self.turns = []
        self.taken_back = []
        self._failure = failure
        self._warning = warning

    def begin_turn(self, turn_id):
        self.turns.append(turn_id)
        if self._failure:
            raise self._failure
        return self._warning

    def rewind(self, turn_ids):
        self.taken_back.append(list(turn_ids))
        if self._failure:
            raise self._failure
        return self._warning


@pytest.fixture
def two_turns(bench, stage):
    """Run two turns under a view, take back one or more with their files, and run another."""

    def run(view, turns=1):
        bench.set_key("overlay", "true")
        bench.set_key("plugins.disabled", '["overlay"]')
        stage.hooks["ferrule_workspace_view"] = lambda context, policy: view
        stage.turns.extend([[*say(f"answer {n}"), DONE] for n in range(3)])
        refusals = []

        async def script(session):
            for number, text in enumerate(("first", "second"), 1):
                await bench.start(session, text)
                await bench.until("turn/completed", number)
            try:
                await bench.perform(session, "thread/rollback", numTurns=turns, files=True)
            except FerruleError as error:
                refusals.append(str(error))
            await bench.start(session, "third")
            await bench.until("turn/completed", 3)

        bench.run(script)
        return refusals

    return run


def history(stage):
    return str(stage.requests[-1].input)


def ids(bench):
    return [params["turn"]["id"] for params in bench.of("turn/completed")]


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_view_is_asked_for_the_turns_that_go(bench, stage, two_turns, turns):
    view = Rewinding()

    assert not two_turns(view, turns)

    assert view.turns == ids(bench)
    assert view.taken_back == [ids(bench)[:2][-turns:]]
    assert "second" not in history(stage)
    assert ("answer 0" in history(stage)) == (turns == 1)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (FerruleError("batch 3 is in the way"), "batch 3 is in the way"),
        (ValueError("odd"), "the overlay failed: ValueError: odd"),
    ],
)
def test_a_view_that_refuses_leaves_the_history_whole(bench, stage, two_turns, failure, said):
    refusals = two_turns(Rewinding(failure=failure))

    assert refusals == [said]
    assert "second" in history(stage)
    warnings = [params["message"] for params in bench.of("warning")]
    assert warnings == [f"the files of this turn cannot be taken back later: {said}"] * 3


def test_what_a_view_warns_of_is_told(bench, stage, two_turns):
    assert not two_turns(Rewinding(warning="not everything"))

    assert [params["message"] for params in bench.of("warning")] == ["not everything"] * 4
    assert "second" not in history(stage)


def test_a_view_that_cannot_take_files_back_says_so(bench, stage, two_turns):
    (refusal,) = two_turns(Window())

    assert "cannot take files back; leave `files` out" in refusal
    assert "second" in history(stage)
