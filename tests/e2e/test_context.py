"""What the model is sent of a repository's instructions and skills, from first to last.

Every request is looked at as the server got it: what was sent before stands unchanged, byte for
byte, and what changed on disk comes once, behind it.
"""

import itertools
import json
import os

import pytest

from ferrule_testkit.model_items import function_call, message

ROLES = ("developer", "user")
RELEASE = (
    "---\nname: release\ndescription: Make a release of this project.\n---\n1. Run the checks.\n"
)


@pytest.fixture
def repository(ferrule_home, model_server):
    """A project with instructions in two folders, a skill, and a user with instructions, too."""
    model_server.play([[message(f"answer {number}")] for number in range(1, 20)])
    place = ferrule_home.workspace
    skill = place / ".agents/skills/release/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(RELEASE)
    (place / "sub").mkdir()
    (place / "AGENTS.md").write_text("Tests run with `make check`.\n")
    (place / "sub/AGENTS.md").write_text("This part is written in C.\n")
    (ferrule_home.path / "AGENTS.md").write_text("Answer in English.\n")
    return place


@pytest.fixture
def exec_(run_ferrule):
    """Run `ferrule exec --json` in the folder sub."""

    def run(*arguments, **options):
        finished = run_ferrule("exec", "--json", "-C", "sub", *arguments, **options)
        assert finished.returncode == 0, finished.stderr
        return finished

    return run


def sent(model_server):
    """The input of every request, item by item, as bytes."""
    return [[json.dumps(item) for item in each.body["input"]] for each in model_server.requests]


def texts(items):
    """What stands in messages that are not the model's."""
    read = [json.loads(item) for item in items]
    return [each["content"][0]["text"] for each in read if each.get("role") in ROLES]


def added(model_server):
    """What every request brought that the one before it had not, the prompt left out."""
    requests = sent(model_server)
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before
    return [texts(after[len(before) :])[:-1] for before, after in itertools.pairwise(requests)]


def test_a_session_begins_with_instructions_and_skills(exec_, repository, model_server):
    run = exec_("--trust", "prepare it with $release")

    base, developer, user, prompt, skill = texts(sent(model_server)[0])
    assert base
    assert "- release: Make a release of this project. (file: r0/release/SKILL.md)" in developer
    assert f"`r0` = `{repository}/.agents/skills`" in developer
    assert user.startswith(
        f"# AGENTS.md instructions for {repository}/sub\n\n<INSTRUCTIONS>\nAnswer in English.\n\n"
        "--- project-doc ---\n\nTests run with `make check`.\n\n\nThis part is written in C.\n"
    )
    assert "<environment_context>" in user
    assert prompt == "prepare it with $release"
    assert skill == (
        f"<skill>\n<name>release</name>\n<path>{repository}/.agents/skills/release/SKILL.md</path>\n"
        f"{RELEASE}\n</skill>"
    )
    assert run.items("error") == []


def test_what_changes_on_disk_is_told_once_to_a_thread_that_goes_on(
    exec_, repository, model_server
):
    exec_("--trust", "one")
    exec_("resume", "--last", "two")

    (repository / "AGENTS.md").write_text("Tests run with `just test`.\n")
    other = repository / ".agents/skills/other/SKILL.md"
    other.parent.mkdir()
    other.write_text("---\ndescription: Something else.\n---\n")
    exec_("resume", "--last", "three")
    exec_("resume", "--last", "four")

    (repository / "sub/AGENTS.md").unlink()
    exec_("resume", "--last", "five", "-s", "read-only")
    exec_("resume", "--last", "six", "-s", "read-only")

    two, three, four, five, six = added(model_server)
    assert (two, four, six) == ([], [], [])
    skills, instructions = three
    assert f"- other: Something else. (file: {other})" in skills
    assert "release" not in skills
    assert "Tests run with `just test`." in instructions
    assert "This part is written in C." not in instructions
    permissions, instructions = five
    assert "Sandbox: readOnly" in permissions
    assert instructions.endswith(f"{repository}/sub/AGENTS.md does not hold any more.")


def test_a_fork_goes_on_from_what_its_origin_was_told(exec_, repository, model_server):
    thread = exec_("--trust", "one").events[0]["thread_id"]
    (repository / "AGENTS.md").write_text("Tests run with `just test`.\n")
    exec_("fork", thread, "two")
    exec_("resume", "--last", "three")

    two, three = added(model_server)
    assert ["just test" in text for text in two] == [True]
    assert three == []


def test_the_beginning_stays_the_same_while_calls_run_and_files_change(
    exec_, repository, model_server
):
    words = {"cmd": "echo 'Say please.' > AGENTS.md"}
    model_server.play(
        [[function_call("exec_command", words, call_id=f"c{number}")] for number in range(3)]
        + [[message("done")]] * 2
    )
    exec_("--trust", "-c", 'sandbox_mode="danger-full-access"', "change your own instructions")
    exec_("resume", "--last", "-c", 'sandbox_mode="danger-full-access"', "again")

    requests = sent(model_server)
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before
    assert ["Say please." in item for item in requests[-2]].count(True) == 3  # the calls alone
    assert "Say please." in texts(requests[-1])[-2]


def test_a_project_that_is_not_trusted_says_nothing_to_the_model(exec_, repository, model_server):
    run = exec_("use $release")

    said = "\n".join(texts(sent(model_server)[0]))
    assert "Answer in English." in said
    assert "make check" not in said
    assert "<skill" not in said
    instructions, skills = [item["message"] for item in run.items("error")]
    assert f"{repository}/sub/AGENTS.md and 1 more are not read" in instructions
    assert "its skills are not offered" in skills
    assert "run once with --trust" in instructions


def test_long_instructions_are_cut_where_the_model_and_the_user_see_it(
    exec_, repository, model_server
):
    (repository / "AGENTS.md").write_text("x" * 40_001)

    run = exec_("--trust", "hello")

    said = "\n".join(texts(sent(model_server)[0]))
    assert "[Cut here: 7233 of 40001 bytes of" in said
    (warning,) = run.items("error")
    assert "project_doc_max_bytes = 32768" in warning["message"]


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_in_place_of_instructions_or_a_skill_stops_nobody(exec_, repository, model_server):
    for file in (repository / "AGENTS.md", repository / ".agents/skills/release/SKILL.md"):
        file.unlink()
        os.mkfifo(file)

    run = exec_("--trust", "hello")

    assert [item["message"].count("no regular file") for item in run.items("error")] == [1, 1]
    assert "This part is written in C." in "\n".join(texts(sent(model_server)[0]))


def test_what_a_model_would_be_sent_is_printed_without_asking_it(
    run_ferrule, exec_, repository, model_server
):
    exec_("--trust", "hello")
    run = run_ferrule("debug", "prompt-input", "-C", "sub", "hello")

    printed = [json.dumps(item) for item in json.loads(run.stdout)]
    assert printed == sent(model_server)[0]
    assert len(model_server.requests) == 1
    assert len(run_ferrule("threads", "list").stdout.splitlines()) == 1


def test_what_is_left_out_is_said_where_the_input_is_printed(run_ferrule, repository):
    run = run_ferrule("debug", "prompt-input", "-C", "sub")

    assert "sub/AGENTS.md and 1 more are not read" in run.stderr
    assert [item["role"] for item in json.loads(run.stdout)] == ["developer", "developer", "user"]
