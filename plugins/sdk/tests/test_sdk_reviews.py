"""Reviews of changes, over every channel and without `async`."""

from __future__ import annotations

import json

import pytest

from ferrule_sdk import ServerError
from ferrule_sdk.sync import Ferrule
from ferrule_testkit.model_items import message

FINDING = {
    "title": "[P1] Bug here",
    "body": "it breaks",
    "confidence_score": 0.9,
    "priority": 1,
    "code_location": {"absolute_file_path": "/w/a.py", "line_range": {"start": 1, "end": 2}},
}
ANSWER = json.dumps({"findings": [FINDING], "overall_explanation": "one bug"})


def test_a_review_gives_findings_and_the_thread_goes_on_from_them(
    clients, model_server, ferrule_home, run
):
    async def main():
        async with clients() as f:
            thread = await f.thread()
            with pytest.raises(ServerError, match="there is nothing to review"):
                await thread.review()
            (ferrule_home.workspace / "a.py").write_text("x = 1\n")
            model_server.play([[message(ANSWER)], [message("mended")]])

            result = await thread.review()

            assert result.parsed["findings"] == [FINDING]
            assert result.text.startswith("one bug\n\nReview comment:")
            assert (await thread.run("mend it")).text == "mended"

    run(main)


def test_a_review_without_async(ferrule_home, model_server):
    model_server.play([[message("plain words")]])
    place = {"home": ferrule_home.path, "environ": ferrule_home.environ}

    with Ferrule(cwd=ferrule_home.workspace, **place) as f:
        result = f.thread().review("look at the locks")

    assert result.text == "plain words"
    assert result.parsed["overall_explanation"] == "plain words"
    assert "look at the locks" in str(model_server.requests[0].body["input"])


def test_one_thing_is_reviewed_at_a_time(ferrule_home):
    place = {"home": ferrule_home.path, "environ": ferrule_home.environ}

    with Ferrule(cwd=ferrule_home.workspace, **place) as f:
        thread = f.thread()
        with pytest.raises(ValueError, match="one thing"):
            thread.review("look", base="main")
        with pytest.raises(ValueError, match="title"):
            thread.review(title="T")
