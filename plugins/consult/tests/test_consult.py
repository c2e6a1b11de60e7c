"""One question to a model: attempts, look-ups, what they show and what bounds them."""

import json
import os

import anyio
import anyio.lowlevel
import pytest

from ferrule_consult.answer import AnswerError, only_object
from ferrule_consult.exchange import ConsultTimeoutError, answer_of
from ferrule_consult.fence import fenced, nonce_for
from ferrule_consult.lookups import SCHEMAS, LookUps
from ferrule_consult.text import message
from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.provider import Completed, ItemDone, ModelRequest
from ferrule_hookspecs.sandbox import Denial, DirectoryEntry
from ferrule_hookspecs.tools import SandboxDeniedError

COUNTS = (
    "totalTokens",
    "inputTokens",
    "cachedInputTokens",
    "cacheWriteInputTokens",
    "outputTokens",
    "reasoningOutputTokens",
)


class Model:
    """Answers what it is told to: texts, calls as pairs of name and arguments, errors, `hang`."""

    name = "scripted"
    stream_max_retries = 0

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    async def stream(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        await anyio.lowlevel.checkpoint()
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            await anyio.sleep_forever()
        for number, each in enumerate(answer if isinstance(answer, list) else [answer]):
            yield ItemDone(each if isinstance(each, dict) else _item(each, number))
        yield Completed("r", dict.fromkeys(COUNTS, 10))

    async def aclose(self):
        return None


def _item(each, number):
    if isinstance(each, str):
        return message("assistant", each)
    name, arguments = each
    return {
        "type": "function_call",
        "call_id": f"c{number}",
        "name": name,
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }


class Files:
    """This machine's files, of which one is forbidden."""

    def __init__(self):
        self.touched = []

    async def read(self, path, *, limit=None):
        self.touched.append(path)
        if path.endswith("forbidden"):
            raise SandboxDeniedError(Denial("read", "reading it is forbidden", path))
        with open(path, "rb") as file:
            return file.read(limit)

    async def list(self, path):
        self.touched.append(path)
        return [
            DirectoryEntry(name, "directory" if os.path.isdir(os.path.join(path, name)) else "file")
            for name in sorted(os.listdir(path))
        ]


def asked(model, lookups=None, timeout_s=20.0):
    tools = () if lookups is None else SCHEMAS
    request = ModelRequest("t", "u", "m", (message("user", "well?"),), tools, kind="review")
    return anyio.run(answer_of, model, request, timeout_s, lookups)


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    (root / "run.sh").write_text("echo one\necho two\n")
    (root / "sub").mkdir()
    (tmp_path / "secret").write_text("s3cret")
    (root / "link").symlink_to(tmp_path / "secret")
    return root


@pytest.fixture
def look(workspace):
    """Make one look-up; returns what the model read."""

    def make(name, arguments):
        model = Model([(name, arguments)], "done")
        asked(model, LookUps(Files(), str(workspace), 3))
        return model.requests[1].input[-1]["output"]

    return make


def test_without_lookups_there_is_one_request():
    model = Model("yes")
    answer = asked(model)
    assert (answer.text, answer.requests, answer.lookups) == ("yes", 1, 0)


def test_once_more_where_the_provider_says_that_it_may_help():
    answer = asked(Model(ProviderError("busy", retryable=True, retry_after_s=0), "yes"))
    assert (answer.text, answer.requests) == ("yes", 2)


def test_not_more_often_than_that():
    busy = [ProviderError("busy", retryable=True, retry_after_s=0) for _ in range(3)]
    with pytest.raises(ProviderError, match="busy"):
        asked(Model(*busy))


def test_the_deadline_holds_for_everything(workspace):
    model = Model([("list_dir", {"path": "."})], "hang")
    with pytest.raises(ConsultTimeoutError):
        asked(model, LookUps(Files(), str(workspace), 3), timeout_s=0.2)


def test_a_file_is_shown_as_data_between_lines_with_a_number(look):
    shown = look("read_file", {"path": "run.sh"}).splitlines()
    nonce = shown[0].rpartition(" ")[2]
    assert shown[0] == f"-----BEGIN DATA {nonce}"
    assert shown[2] == f"-----END DATA {nonce}"
    assert json.loads(shown[1]) == {
        "origin": "file",
        "path": "run.sh",
        "text": "echo one\necho two",
    }


def test_from_a_line_on(look):
    assert "echo one" not in look("read_file", {"path": "run.sh", "first_line": 2})


def test_a_folder(look):
    assert '"entries": "link\\nrun.sh\\nsub/"' in look("list_dir", {"path": "."})


def test_what_a_request_gives_is_sent_along_with_the_answers(workspace):
    model = Model(["Let me look.", ("list_dir", {"path": "."})], "yes")
    answer = asked(model, LookUps(Files(), str(workspace), 3))
    assert answer.text == "yes"
    assert (answer.requests, answer.lookups) == (2, 1)
    assert answer.usage == dict.fromkeys(COUNTS, 20)
    kinds = [item["type"] for item in model.requests[1].input]
    assert kinds == ["message", "message", "function_call", "function_call_output"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", {"path": "../secret"}, "outside of the workspace"),
        ("read_file", {"path": "/etc/passwd"}, "outside of the workspace"),
        ("read_file", {"path": "link"}, "outside of the workspace"),
        ("read_file", {"path": "no such"}, "No such file"),
        ("read_file", {"path": "sub/forbidden"}, "reading it is forbidden"),
        ("read_file", {"path": 7}, "must be a text"),
        ("read_file", {"path": "run.sh", "first_line": 0}, "from 1 on"),
        ("read_file", "[]", "must be an object"),
        ("read_file", "{", "error"),
        ("exec_command", {"path": "run.sh"}, "nothing else"),
    ],
)
def test_what_cannot_be_looked_at(look, name, arguments, said):
    output = look(name, arguments)
    assert output.startswith("error: ")
    assert said in output
    assert "s3cret" not in output


def test_there_are_no_more_lookups_and_rounds_than_allowed(workspace):
    files = Files()
    model = Model(*[[("list_dir", {"path": "."})]] * 9)
    answer = asked(model, LookUps(files, str(workspace), 2))
    assert len(files.touched) == answer.lookups == 2
    assert len(model.requests) == 4
    assert "no look-ups left" in model.requests[-1].input[-1]["output"]
    assert answer.text == ""


def test_a_large_file_has_its_middle_left_out(workspace, look):
    (workspace / "big").write_text("x" * 1_000_000)
    output = look("read_file", {"path": "big"})
    assert len(output) < 20_000
    assert "its middle is left out" in output


def test_a_number_that_occurs_in_the_data_is_drawn_anew():
    numbers = iter(["1", "2"])
    assert nonce_for(["a 1"], lambda: next(numbers)) == "2"
    assert fenced("X", ["a"], "2") == "-----BEGIN X 2\na\n-----END X 2"


@pytest.mark.parametrize(
    "answer",
    ["no", "{", "{} {}", '{"a": 1, "a": 2}', '{"a": NaN}', "[1]", "{" * 9_000],
)
def test_what_is_no_single_object_is_no_answer(answer):
    with pytest.raises(AnswerError):
        only_object(answer)


def test_prose_around_the_object_does_no_harm():
    assert only_object('Well:\n```json\n{"ok": true}\n```') == {"ok": True}
