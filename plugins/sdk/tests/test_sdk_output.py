"""Answers in a shape, and tools made of functions."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from ferrule_hookspecs.errors import FerruleError
from ferrule_sdk import Ferrule, OutputError


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    default: int = 3
    """Called like a keyword of schemas."""


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Zoo(BaseModel):
    animals: list[Annotated[Dog | Cat, Field(discriminator="kind")]] = []
    keeper: str | None = None


def ask(scripted, run, schema, text):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            turn = await (await f.thread()).start("Go", schema=schema)
            item = {"id": "m", "type": "agentMessage", "text": text}
            scripted.tell("item/completed", item=item)
            scripted.finish()
            return await turn.result()

    result = run(main)
    sent = next(message for message in scripted.received if message.get("method") == "turn/start")
    return result, sent["params"]["outputSchema"]


def test_a_pydantic_model_becomes_a_strict_schema(scripted, run):
    answer = '{"animals": [{"kind": "dog", "default": 1}], "keeper": null}'
    result, schema = ask(scripted, run, Zoo, answer)

    assert result.parsed == Zoo(animals=[Dog(default=1)])
    assert schema["required"] == ["animals", "keeper"]
    assert schema["$defs"]["Dog"]["required"] == ["kind", "default"]
    assert schema["$defs"]["Cat"]["additionalProperties"] is False
    assert "oneOf" not in str(schema)
    assert "'default': [" not in str(schema)


def test_a_schema_is_sent_as_it_is(scripted, run):
    given = {"type": "object", "properties": {"a": {"default": 1}}}
    result, schema = ask(scripted, run, given, '{"a": 2}')

    assert result.parsed == {"a": 2}
    assert schema == given


def test_any_type_that_pydantic_knows(scripted, run):
    assert ask(scripted, run, list[int], "[1, 2]")[0].parsed == [1, 2]


@pytest.mark.parametrize("text", ["{}", "no json", '{"animals": 5, "keeper": null}', ""])
def test_an_answer_that_does_not_fit_is_told_with_its_text(scripted, run, text):
    with pytest.raises(OutputError, match="does not fit the schema") as caught:
        ask(scripted, run, list[int] if text == "{}" else Zoo, text)

    assert caught.value.text == text


def test_an_interrupted_turn_has_no_answer(scripted, run):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            turn = await (await f.thread()).start("Go", schema=Dog)
            scripted.finish("interrupted")
            await turn.result()

    with pytest.raises(OutputError, match="the turn was interrupted"):
        run(main)


def call_tool(scripted, run, function, arguments, **options):
    async def main():
        f = Ferrule(channel=scripted.open)
        f.tool(function) if not options else f.tool(**options)(function)
        async with f:
            await f.thread()
            name = options.get("name", function.__name__)
            scripted.ask(1, "item/tool/call", callId="c", tool=name, arguments=arguments)
            return (await scripted.answer_to(1))["result"]

    answer = run(main)
    started = next(m for m in scripted.received if m.get("method") == "thread/start")
    return answer, started["params"]["dynamicTools"][0]


def test_a_function_is_described_by_its_hints_and_its_docstring(scripted, run):
    def restart(service: Annotated[str, Field(description="Which one")], *, force: bool = False):
        """Restart a service."""
        return f"{service} {force}"

    answer, spec = call_tool(scripted, run, restart, {"service": "web"})

    assert answer == {"contentItems": [{"type": "inputText", "text": "web False"}], "success": True}
    assert spec["type"] == "function"
    assert spec["name"] == "restart"
    assert spec["description"] == "Restart a service."
    assert spec["inputSchema"]["required"] == ["service"]
    assert spec["inputSchema"]["properties"]["service"]["description"] == "Which one"


def test_an_asynchronous_function_under_another_name(scripted, run):
    async def look() -> list[int]:
        return [1, 2]

    answer, spec = call_tool(scripted, run, look, {}, name="view")

    assert answer["contentItems"][0]["text"] == "[1,2]"
    assert spec["name"] == "view"


def test_what_a_function_raises_goes_to_the_model(scripted, run):
    def fail() -> None:
        raise LookupError("no such service")

    answer, _ = call_tool(scripted, run, fail, {})

    assert answer["success"] is False
    assert answer["contentItems"][0]["text"] == "LookupError: no such service"


def test_arguments_that_do_not_fit_go_to_the_model(scripted, run):
    def add(a: int, b: int) -> int:
        return a + b

    answer, _ = call_tool(scripted, run, add, {"a": "x"})

    assert answer["success"] is False
    assert "the arguments do not fit" in answer["contentItems"][0]["text"]


def test_a_function_that_cannot_be_described_is_refused_at_once():
    f = Ferrule()

    class Odd:
        pass

    with pytest.raises(FerruleError, match="the tool 'odd' cannot be described"):

        @f.tool
        def odd(value: Odd) -> None: ...
