"""Suites fail where a plugin breaks its contract, and say what the contract wants."""

import re
import subprocess
import sys

import pytest

FAULTY = """
import subprocess, threading, uuid
import anyio
from ferrule_hookspecs import Denial, Launch, Tool, ToolArgumentError, ToolResult, Verdict, hookimpl
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_hookspecs.sandbox import Capabilities
from ferrule_hookspecs.slots import CompactionResult
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_testkit import (
    CommandConformance, CompactorConformance, HooksConformance, ProviderConformance,
    ReviewerConformance, SandboxConformance, ToolConformance,
)

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Faulty(Tool):
    name = "faulty"
    read_only = True

    def __init__(self, context):
        super().__init__(context)
        threading.Thread(target=lambda: None).start()

    def schema(self):
        return FunctionSchema(self.name, "", {**SCHEMA, "x": str(uuid.uuid4())})

    def normalize(self, arguments):
        return {"n": int(arguments.get("n", 0)) + 1}

    async def run(self, call, context):
        if context.sandbox.policy.mode == "workspace-write":
            open(context.cwd + "/new", "w").close()
        self.child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        try:
            await anyio.sleep(0.01)
        except BaseException:
            raise KeyError("cancelled?") from None
        return "done"


class TestTool(ToolConformance):
    arguments = {"n": 1}

    def make(self, context):
        return Faulty(context)


class Gullible:
    name = "gullible"

    async def review(self, request, context):
        await context.ask_client({"method": "x", "params": {}})
        return {"decision": "accept", "reviewer": "gullible", "reason": ""}


class TestReviewer(ReviewerConformance):
    def make(self, context):
        return Gullible()


class Box:
    name = "box"

    def probe(self):
        return Capabilities(True, "", frozenset({"filesystem", "deny_read", "network"}))

    def prepare(self, policy, command):
        return Launch(("/usr/bin/env", *command.argv), {**command.env, "ODD": "mine"}, command.cwd)

    def classify(self, policy, result):
        return Denial("write", "always")

    def files(self, policy):
        return None

    async def aclose(self):
        return None


class TestSandbox(SandboxConformance):
    def make(self, context):
        return Box()


class Silent:
    name = "silent"
    stream_max_retries = 0

    async def stream(self, request):
        part = {"type": "output_text", "text": "hi"}
        yield Completed("r", None)
        yield ItemDone({"type": "message", "role": "assistant", "content": [part]})

    async def aclose(self):
        return None


class TestProvider(ProviderConformance):
    def make(self, context):
        return Silent()


class Careless:
    name = "careless"

    async def compact(self, request, provider, *, reason, material):
        summary = ""
        async for event in provider.stream(request._replace(input=())):
            if isinstance(event, ItemDone):
                summary = event.item["content"][0]["text"]
        call = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}
        return CompactionResult([call], summary)


class TestCompactor(CompactorConformance):
    def make(self, context):
        return Careless()


class Hooks:
    __name__ = "hooks"

    @staticmethod
    @hookimpl
    def ferrule_tool_before(call):
        return True if "rm" in call.text else Verdict("deny")

    @staticmethod
    def ferrule_turn_start(turn):
        return None


class TestHooks(HooksConformance):
    def make(self):
        return Hooks


class Mute:
    help = ""
    options = ("two words",)

    def main(self, argv, host):
        return 0


class TestCommand(CommandConformance):
    def make(self):
        return Mute()
"""
FOUND = {
    "TestTool": {
        "its_name_is_that_of_its_entry_point",
        "its_description_tells_the_model_what_it_is_for",
        "its_schema_stays_the_same",
        "making_one_starts_and_writes_nothing",
        "normalising_is_done_after_the_first_time",
        "arguments_that_do_not_fit_are_refused_in_one_sentence",
        "no_arguments_raise_anything_else",
        "a_call_gives_a_result",
        "a_tool_that_only_reads_changes_no_file",
        "a_cancelled_call_ends_and_leaves_no_process",
    },
    "TestReviewer": {
        "an_answer_that_makes_no_sense_accepts_nothing",
    },
    "TestSandbox": {
        "words_folder_and_environment_are_those_of_the_command",
        "writing_elsewhere_is_refused",
        "reading_a_secret_is_refused",
        "the_network_is_off",
        "a_command_that_ended_well_was_not_refused_anything",
    },
    "TestProvider": {
        "an_answer_ends_with_completed_and_nothing_behind_it",
        "text_comes_as_it_is_said_and_whole",
        "what_was_used_is_told",
        "what_may_pass_may_be_tried_again",
        "a_broken_stream_is_an_error_that_may_pass",
    },
    "TestCompactor": {
        "what_the_user_wrote_is_kept",
        "calls_and_outputs_stay_together",
        "a_summary_that_says_nothing_is_refused",
        "its_requests_begin_with_what_the_provider_has_cached",
    },
    "TestHooks": {
        "every_hook_is_one_and_is_marked",
        "opinions_have_their_form_whatever_is_judged",
    },
    "TestCommand": {
        "it_says_in_one_line_what_it_is_for",
        "its_options_can_be_completed",
        "help_is_shown_and_nothing_is_done",
        "what_it_does_not_know_is_an_error_in_words",
    },
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What pytest says of the suites of faulty plugins."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "pytest.ini").write_text("[pytest]\nferrule_thorough = false\n")
    (folder / "test_faulty.py").write_text(FAULTY)
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'base'}"]
    words.append("--color=no")  # whatever variables say
    ended = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("suite", FOUND)
def test_r23_a_suite_finds_what_breaks_the_contract(report, suite):
    failed = re.findall(rf"^(?:FAILED|ERROR) \S+::{suite}::test_(\w+)", report, re.MULTILINE)
    assert set(failed) >= FOUND[suite]
    assert "(see tools.Tool.normalize in ferrule_hookspecs)" in report
