"""How tools are ranked: exact scores, forms of words, names that look alike."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_hookspecs.tool_finding import DeferredTool
from ferrule_hookspecs.tools import FunctionSchema, ToolNamespace
from ferrule_tool_search.ranking import Ranking
from ferrule_tool_search.shelf import Shelf
from ferrule_tool_search.words import words

LETTERS = st.text("abc", min_size=1, max_size=2)
TEXTS = st.lists(st.lists(LETTERS, max_size=6), min_size=1, max_size=8)


def tool(name, description="", namespace=None, **properties):
    space = namespace and ToolNamespace(namespace, "")
    schema = {"type": "object", "properties": properties}
    return DeferredTool(FunctionSchema(name, description, schema), space)


def okapi(documents, query):
    """BM25 with k1 = 1.2 and b = 0.75, written as the formula stands in books."""
    mean = sum(map(len, documents)) / len(documents)
    scores = {}
    for number, document in enumerate(documents):
        counts = Counter(document)
        for word in set(query) & set(document):
            holders = sum(word in other for other in documents)
            idf = math.log((len(documents) - holders + 0.5) / (holders + 0.5) + 1)
            tf = counts[word] * 2.2 / (counts[word] + 1.2 * (0.25 + 0.75 * len(document) / mean))
            scores[number] = scores.get(number, 0) + idf * tf
    return scores


def test_scores_are_those_of_okapi_bm25():
    ranking = Ranking([["read", "file"], ["write", "file", "file", "text"], ["list"]])

    scores = ranking.scores(["write", "file"])

    # idf: ln(1 + 1.5/2.5) of "file", ln(1 + 2.5/1.5) of "write"; the mean length is 7/3.
    assert scores.keys() == {0, 1}
    assert scores[0] == pytest.approx(0.470004 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / 7)), rel=1e-5)
    softened = 1.2 * (0.25 + 0.75 * 12 / 7)
    written = 0.980829 * 2.2 / (1 + softened)
    assert scores[1] == pytest.approx(0.470004 * 4.4 / (2 + softened) + written, rel=1e-5)
    assert scores[0] == pytest.approx(0.499176, rel=1e-5)
    assert scores[1] == pytest.approx(1.297184, rel=1e-5)


@given(TEXTS, st.lists(LETTERS, max_size=4))
def test_scores_follow_the_formula_for_any_texts(documents, query):
    assert Ranking(documents).scores(query) == pytest.approx(okapi(documents, query))


@given(TEXTS, st.lists(LETTERS, max_size=4), st.integers(0, 9))
def test_what_is_best_is_sorted_stable_and_bounded(documents, query, limit):
    ranking = Ranking(documents)

    found, scores = ranking.best(query, limit), ranking.scores(query)

    assert found == sorted(scores, key=lambda number: (-scores[number], number))[:limit]


def test_nothing_is_found_among_nothing():
    assert Ranking([]).best(["x"], 3) == []
    assert Shelf([]).find("x", 3) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("create_issue", "creating issues"),
        ("listPullRequests", "list pull request"),
        ("getHTTPStatus", "HTTP status get"),
        ("plan-trips", "planned a trip"),
        ("queries", "query"),
        ("v2.search", "search v 2"),
        ("ADD", "add"),
    ],
)
def test_forms_of_the_same_words_are_the_same(one, other):
    assert sorted(words(one)) == sorted(words(other))


@pytest.mark.parametrize("text", ["", "the of and", "___", "\x00", "🦊", "()"])
def test_a_text_without_words_has_none(text):
    assert words(text) == []


def test_letters_of_other_scripts_are_words():
    assert words("поиск файлов 検索") == ["поиск", "файлов", "検索"]


def test_a_name_counts_more_than_a_description_and_parameters_count():
    tools = [
        tool("other", "Sends a mail."),
        tool("send_mail", "Delivers."),
        tool("third", "Nothing.", recipient={"type": "string", "description": "Who gets the mail"}),
        tool("fourth", "Nothing."),
    ]

    assert Shelf(tools).find("send mail", 8) == ("send_mail", "other", "third")


def test_parameters_inside_of_others_count():
    inner = {"type": "object", "properties": {"zebra": {"type": "string"}}}
    tools = [tool("a", list={"type": "array", "items": inner}), tool("b")]

    assert Shelf(tools).find("zebra", 8) == ("a",)


def test_a_schema_that_refers_to_itself_ends():
    schema = {"type": "object"}
    schema["properties"] = {"again": schema}
    found = DeferredTool(FunctionSchema("a", "", schema), None)

    assert Shelf([found]).find("again", 8) == ("a",)


@pytest.mark.parametrize("name", ["mcp__one__read", "read_all"])
def test_a_tool_that_is_named_comes_first(name):
    tools = [
        tool("mcp__two__read_read", "read read read", "mcp__two"),
        tool("mcp__one__read", "Reads.", "mcp__one"),
        tool("mcp__one__read_all", "", "mcp__one"),
    ]

    assert Shelf(tools).find(f"please {name}", 1) == (f"mcp__one__{name.split('__')[-1]}",)


def test_tools_of_one_name_on_two_servers_are_told_apart():
    tools = [
        tool("mcp__mail__send", "Sends.", "mcp__mail"),
        tool("mcp__chat__send", "Sends.", "mcp__chat"),
    ]

    assert Shelf(tools).find("chat send it", 1) == ("mcp__chat__send",)
    assert set(Shelf(tools).find("sending", 8)) == {"mcp__mail__send", "mcp__chat__send"}


NAMES = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), unique=True, max_size=6
)


@given(NAMES, st.text(max_size=60), st.integers(1, 5))
def test_any_names_and_any_question_give_names_that_exist_once(names, query, limit):
    found = Shelf([tool(name, "Does it.") for name in names]).find(query, limit)

    assert len(found) == len(set(found)) <= limit
    assert set(found) <= set(names)
