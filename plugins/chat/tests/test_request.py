"""What a request looks like on the wire, for strict servers and for each vendor's wishes."""

import json

import pytest

from ferrule_hookspecs.models import ModelInfo
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning

RUN = FunctionSchema("run", "Runs.", {"type": "object", "properties": {"cmd": {}}})
PATCH = FreeformSchema("apply_patch", "Patches.", "lark", "start: begin")
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,x", "detail": "original"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def said(role, *texts):
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "role": role, "content": content}


def output(call_id, value="out", *, form="function_call"):
    return {"type": f"{form}_output", "call_id": call_id, "output": value}


def thought(text):
    content = [{"type": "reasoning_text", "text": text}]
    return {"type": "reasoning", "summary": [], "content": content}


def brief(messages):
    """Messages as (role, content) and calls as (role, [names])."""
    return [
        (each["role"], [call["function"]["name"] for call in each["tool_calls"]])
        if "tool_calls" in each
        else (each["role"], each["content"])
        for each in messages
    ]


@pytest.fixture
def messages(sent):
    def run(*history, **options):
        return sent(input=list(history), **{"tools": [RUN, PATCH], **options})["messages"]

    return run


def test_a_plain_request(sent):
    body = sent(input=[said("developer", "Be kind."), said("user", "hi")], tools=[RUN])
    assert body == {
        "model": "m1",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "run",
                    "description": "Runs.",
                    "parameters": {"type": "object", "properties": {"cmd": {}}},
                },
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_request_without_tools_names_none(sent):
    assert "tools" not in sent(input=[said("user", "hi")])


def test_instructions_stand_first_and_are_one_message(messages):
    assert brief(
        messages(
            said("system", "a"),
            said("developer", "b"),
            said("user", "hi"),
            said("developer", "late"),
            said("user", "ho"),
        )
    ) == [("system", "a\n\nb"), ("user", "hi\n\nlate\n\nho")]


def test_openai_gets_developer_messages_as_they_are(messages):
    history = [said("developer", "a"), said("developer", "b"), said("user", "hi")]
    assert brief(messages(*history, vendor="openai")) == [
        ("developer", "a"),
        ("developer", "b"),
        ("user", "hi"),
    ]


def test_calls_side_by_side_share_a_message_and_are_answered_at_once(messages):
    written = messages(
        said("user", "go"),
        message("I look."),
        function_call("run", {"cmd": "a"}, call_id="1"),
        freeform_call("apply_patch", "*** x", call_id="2"),
        output("1"),
        output("2", form="custom_tool_call"),
        function_call("run", {}, call_id="3"),
        output("3", ""),
        message("done"),
    )
    assert brief(written) == [
        ("user", "go"),
        ("assistant", ["run", "apply_patch"]),
        ("tool", "out"),
        ("tool", "out"),
        ("assistant", ["run"]),
        ("tool", "(no output)"),
        ("assistant", "done"),
    ]
    assert written[1]["content"] == "I look."
    assert json.loads(written[1]["tool_calls"][1]["function"]["arguments"]) == {"input": "*** x"}
    assert written[4]["content"] is None


def test_an_output_comes_right_after_its_call_wherever_it_stood(messages):
    assert brief(
        messages(
            function_call("run", {}, call_id="1"),
            message("meanwhile"),
            said("user", "wait"),
            output("1"),
        )
    ) == [("assistant", ["run"]), ("tool", "out"), ("user", "wait")]


def test_an_interrupted_call_is_answered_with_a_placeholder(messages):
    *_, called, answered, user = messages(function_call("run", {}), said("user", "again"))
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert answered["content"] == "(interrupted: the call ended before it gave an output)"
    assert user["role"] == "user"


def test_without_tools_calls_of_the_past_are_told_in_text(messages):
    written = messages(said("user", "go"), function_call("run", {}), output("call_1"), tools=[])
    assert [each["role"] for each in written] == ["user", "assistant", "user"]
    assert all(set(each) == {"role", "content"} for each in written)


def test_stray_outputs_and_unknown_items_are_left_out(messages):
    unknown = {"type": "web_search_call", "id": "w"}
    assert brief(messages(output("gone"), unknown, said("user", "hi"))) == [("user", "hi")]


def test_one_id_used_twice_keeps_its_outputs_apart(messages):
    call = function_call("run", {}, call_id="1")
    written = messages(call, output("1", "first"), call, output("1", "second"))
    assert [each["content"] for each in written if each["role"] == "tool"] == ["first", "second"]


def test_images_of_the_user_are_sent_beside_the_text(messages):
    user = {"type": "message", "role": "user"}
    (written,) = messages({**user, "content": [{"type": "input_text", "text": "see"}, PICTURE]})
    assert written["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,x"}},
    ]


def test_images_of_a_tool_follow_all_outputs_as_the_users(messages):
    written = messages(
        function_call("run", {}, call_id="1"),
        function_call("run", {}, call_id="2"),
        output("1", [{"type": "input_text", "text": "a picture"}, PICTURE]),
        output("2", [PICTURE]),
    )
    assert [each["role"] for each in written] == ["assistant", "tool", "tool", "user"]
    assert written[1]["content"] == "a picture"
    assert written[2]["content"] == "(images follow in the next message)"
    assert [part["type"] for part in written[3]["content"]] == [
        "text", "image_url", "text", "image_url",
    ]  # fmt: skip


def test_images_of_a_tool_stay_where_the_vendor_takes_them(messages):
    written = messages(
        function_call("run", {}), output("call_1", [PICTURE]), quirks={"tool_images": "tool"}
    )
    assert written[1]["content"][0]["type"] == "image_url"


def test_a_model_without_eyes_gets_no_images(messages):
    user = {"type": "message", "role": "user", "content": [PICTURE]}
    (written,) = messages(user, model_info=ModelInfo("m1", input_modalities=("text",)))
    assert written["content"] == "(an image was left out: the model does not read images)"


def test_reasoning_goes_back_where_the_vendor_wants_it(messages):
    history = [thought("hm"), message("so"), function_call("run", {}), output("call_1")]
    assert "reasoning_content" not in messages(*history)[0]
    assert messages(*history, vendor="deepseek")[0]["reasoning_content"] == "hm"
    assert messages(*history, vendor="ollama")[0]["reasoning"] == "hm"
    assert messages(thought("hm"), message("so"), vendor="deepseek") == [
        {"role": "assistant", "content": "so"}
    ]


def test_deepseek_gets_the_field_with_every_call(messages):
    history = [reasoning("a summary"), function_call("run", {}), output("call_1"), message("x")]
    called, _, answer = messages(*history, vendor="deepseek")
    assert called["reasoning_content"] == ""
    assert "reasoning_content" not in answer


def test_what_vendors_sealed_goes_back_to_them_only(messages):
    details = [{"type": "reasoning.encrypted", "data": "s"}]
    extra = {"google": {"thought_signature": "s"}}
    history = [
        {**thought("hm"), "reasoning_details": details},
        {**function_call("run", {}), "extra_content": extra},
        output("call_1"),
    ]
    assert messages(*history, vendor="openrouter")[0]["reasoning_details"] == details
    assert messages(*history, vendor="gemini")[0]["tool_calls"][0]["extra_content"] == extra
    plain = messages(*history)[0]
    assert "reasoning_details" not in plain
    assert "extra_content" not in plain["tool_calls"][0]


def test_mistral_gets_short_ids_and_an_assistant_between_tool_and_user(messages):
    history = [function_call("run", {}, call_id="call_1"), output("call_1"), said("user", "ho")]
    called, answered, bridge, user = messages(*history, vendor="mistral")
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert len(answered["tool_call_id"]) == 9
    assert answered["tool_call_id"].isalnum()
    assert (bridge["role"], user["content"]) == ("assistant", "ho")


def test_a_plain_text_tool_is_a_function_whose_description_tells_the_format(sent):
    (tool,) = sent(tools=[PATCH])["tools"]
    assert "start: begin" in tool["function"]["description"]
    assert tool["function"]["parameters"]["required"] == ["input"]


def test_a_schema_for_the_answer(sent):
    strict = sent(output_schema=SCHEMA)["response_format"]["json_schema"]
    assert (strict["schema"], strict["strict"]) == (SCHEMA, True)
    loose = sent(output_schema=SCHEMA, vendor="deepseek")
    assert loose["response_format"] == {"type": "json_object"}
    assert json.dumps(SCHEMA) in loose["messages"][0]["content"]
    beside = sent(output_schema=SCHEMA, vendor="groq", tools=[RUN])
    assert "response_format" not in beside
    assert json.dumps(SCHEMA) in beside["messages"][0]["content"]


@pytest.mark.parametrize(
    ("vendor", "expected"),
    [
        (None, {"reasoning_effort": "xhigh"}),
        ("openrouter", {"reasoning": {"effort": "xhigh"}}),
        ("deepseek", {"reasoning_effort": "max"}),
    ],
)
def test_effort_in_each_vendors_form(sent, vendor, expected):
    body = sent(vendor, reasoning_effort="xhigh")
    assert {key: value for key, value in body.items() if "reasoning" in key} == expected


def test_effort_can_be_kept_from_a_vendor(sent):
    assert "reasoning_effort" not in sent(
        quirks={"reasoning_effort": "off"}, reasoning_effort="low"
    )


def test_a_model_that_knows_no_effort_is_given_none(sent):
    knowing = ModelInfo("m1", reasoning_efforts=("low", "high"))
    assert sent(reasoning_effort="low", model_info=knowing)["reasoning_effort"] == "low"
    assert "reasoning_effort" not in sent(reasoning_effort="low", model_info=ModelInfo("m1"))


def test_wishes_are_sent_only_where_they_are_understood(sent):
    openai = sent("openai", verbosity="low", tools=[RUN], parallel_tool_calls=False)
    assert openai["verbosity"] == "low"
    assert openai["parallel_tool_calls"] is False
    assert openai["prompt_cache_key"] == "thread-1"
    plain = sent(verbosity="low", tools=[RUN])
    assert not {"verbosity", "parallel_tool_calls", "prompt_cache_key"} & plain.keys()
    assert "stream_options" not in sent("mistral")


def test_more_can_be_said_in_a_users_quirks(sent):
    body = sent(quirks={"max_tokens": 500, "extra_body": {"temperature": 0, "provider": {"x": 1}}})
    assert body["max_tokens"] == 500
    assert body["temperature"] == 0
    assert body["provider"] == {"x": 1}
    assert sent("openai", {"max_tokens": 500})["max_completion_tokens"] == 500


def test_broken_arguments_of_the_past_do_not_break_the_server(messages):
    call = {**function_call("run", {}), "arguments": '{"cmd": '}
    function = messages(call, output("call_1"))[0]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"input": '{"cmd": '}


def test_a_lone_surrogate_is_sent_as_a_question_mark(messages):
    assert messages(said("user", "a\ud800b"))[0]["content"] == "a?b"


def test_a_growing_history_keeps_its_beginning_byte_for_byte(model_server, talk, make_request):
    history = [said("developer", "x"), said("user", "go"), function_call("run", {})]
    longer = [*history, output("call_1"), message("so"), said("user", "on")]
    shorter = [*history, output("call_1")]
    talk(make_request(input=shorter, tools=[RUN]), make_request(input=longer, tools=[RUN]))
    first, second = (request.raw for request in model_server.requests)
    end = first.index(b'],"tools"')
    assert second.startswith(first[:end])


def test_calls_in_text_can_be_chosen(sent):
    history = [
        said("developer", "Be kind."),
        said("user", "go"),
        function_call("run", {"cmd": "a"}),
    ]
    history += [output("call_1")]
    chosen = sent(quirks={"tool_calls": "text"}, tools=[RUN], input=history)
    known = sent(tools=[RUN], input=history, model_info=ModelInfo("m1", tool_calls="text"))
    assert chosen == known
    assert "tools" not in chosen
    system, _, called, result = chosen["messages"]
    assert system["content"].startswith("Be kind.\n\n# Tools")
    assert called["content"].startswith("```tool\n")
    assert result["content"] == '<tool_result name="run">\nout\n</tool_result>'
