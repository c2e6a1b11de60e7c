"""`fuzzyFileSearch*`: what is found, in which order, and what git would ignore."""

from __future__ import annotations

import pytest


@pytest.fixture
def tree(tmp_path):
    """A repository with files that git ignores."""
    root = tmp_path / "tree"
    for path in (
        *("src/main.py", "src/domain.py", "src/app/my_index.py", "README.md", ".hidden/main.cfg"),
        *("build/main.py", "src/main.pyc", "logs/keep/main.log", "logs/main.log", "a/only_here"),
        *("src/app/only_here", ".git/main"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / ".gitignore").write_text("*.pyc\n/build/\nlogs/*\n!logs/keep\n# comment\n\n")
    (root / "src" / ".gitignore").write_text("app/only_*\n")
    return str(root)


@pytest.fixture
def found(client, tree):
    """The paths that fit a query, best first."""

    def search(query: str, *, root: str = tree) -> list[str]:
        files = client.call("fuzzyFileSearch", query=query, roots=[root])["files"]
        return [file["path"] for file in files]

    return search


def test_names_count_more_than_folders_and_whole_words_more_than_parts(found):
    assert found("main") == [
        "src/main.py",
        ".hidden/main.cfg",
        "logs/keep/main.log",
        "src/domain.py",
    ]


def test_letters_may_be_apart(found):
    assert {*found("sap")[:2]} == {"src/app", "src/app/my_index.py"}
    assert found("Index")[0] == "src/app/my_index.py"
    assert found("zzz") == []
    assert found("") == []


def test_rules_of_folders_above_and_below_count(found, tree):
    assert found("only") == ["a/only_here"]
    assert found("only", root=f"{tree}/src") == []


def test_the_places_of_the_letters_are_told(client, tree):
    [file] = client.call("fuzzyFileSearch", query="myi", roots=[tree])["files"]
    assert file["path"] == "src/app/my_index.py"
    assert "".join(file["path"][place] for place in file["indices"]) == "myi"
    assert (file["file_name"], file["match_type"]) == ("my_index.py", "file")


def test_a_search_replaces_the_one_of_its_token(client, tree):
    params = {"roots": [tree], "cancellationToken": "t"}
    numbers = [client.send("fuzzyFileSearch", query=query, **params) for query in ("m", "main")]
    replies = [client.reply(number)["files"] for number in numbers]
    assert replies[1][0]["path"] == "src/main.py"


def test_a_session_follows_what_is_typed(client, tree, refused):
    client.call("fuzzyFileSearch/sessionStart", sessionId="s", roots=[tree])
    client.call("fuzzyFileSearch/sessionUpdate", sessionId="s", query="readme")
    told = client.told("fuzzyFileSearch/sessionUpdated", sessionId="s", query="readme")
    assert [file["path"] for file in told["files"]] == ["README.md"]
    client.told("fuzzyFileSearch/sessionCompleted", sessionId="s")
    client.call("fuzzyFileSearch/sessionStop", sessionId="s")
    with refused("session not found: s"):
        client.call("fuzzyFileSearch/sessionUpdate", sessionId="s", query="x")


def test_links_in_a_circle_are_no_trap(client, tree, tmp_path):
    (tmp_path / "tree" / "src" / "up").symlink_to(tmp_path)
    assert client.call("fuzzyFileSearch", query="up", roots=[tree])["files"]
