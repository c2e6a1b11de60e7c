"""Which skills the model is told of, how, and what a name in a prompt does."""

import os

import pytest


def test_nothing_is_said_where_there_are_no_skills(place):
    assert place.fragment() is None
    assert place.update({}) is None
    assert place.prompt("use $demo") == ""


def test_the_list_names_what_a_skill_is_for_and_where_it_is(place):
    place.skill("project/.agents/skills/demo", "Demo for testing", "demo-skill")
    place.skill("home/skills/mine", "In home")

    fragment = place.fragment()

    assert fragment.role == "developer"
    assert fragment.text.startswith("<skills_instructions>\n## Skills\n")
    assert (
        f"### Skill roots\n- `r0` = `{place.project}/.agents/skills`\n"
        f"- `r1` = `{place.folder}/home/skills`\n### Available skills\n"
        "- demo-skill: Demo for testing (file: r0/demo/SKILL.md)\n"
        "- mine: In home (file: r1/mine/SKILL.md)\n</skills_instructions>"
    ) in fragment.text
    assert "Body" not in fragment.text


def test_the_nearest_comes_first_and_of_namesakes_it_alone_counts(place):
    place.skill("admin/skills/f")
    place.skill("user/.agents/skills/e")
    place.skill("home/skills/d")
    place.skill("home/skills/a", "hidden")
    place.skill("project/.agents/skills/c")
    place.skill("project/sub/.agents/skills/a", "counts")
    place.skill("project/sub/below/.agents/skills/z")
    (place.project / "sub").mkdir(exist_ok=True)

    assert place.names("sub") == ["a", "c", "d", "e", "f"]
    assert "a: counts" in place.fragment("sub").text


def test_the_folder_of_codex_counts_where_ours_is_absent(place):
    place.skill("project/.codex/skills/old")
    assert place.names() == ["old"]
    place.skill("project/.ferrule/skills/new")
    assert place.names() == ["new"]


def test_skills_may_stand_in_folders_of_their_own(place):
    place.skill("home/skills/group/one")
    place.skill("home/skills/group/one/parts/no-skill-of-its-own")
    place.skill("home/skills/.system/hidden")

    assert place.names() == ["one"]


def test_skills_of_a_project_that_is_not_trusted_are_not_listed_and_one_warning_says_so(place):
    place.is_trusted = False
    place.skill("project/.agents/skills/theirs")
    place.skill("home/skills/mine")

    assert place.names() == ["mine"]
    assert place.prompt("use $theirs") == ""
    assert place.update({}) is not None
    (warning,) = place.warnings
    assert f"the project {place.project} is not trusted; run once with --trust" in warning


def test_a_project_without_skills_says_nothing_of_trust(place):
    place.is_trusted = False
    (place.project / ".agents/skills").mkdir(parents=True)

    assert place.names() == []
    assert place.warnings == []


def test_a_skill_of_the_project_does_not_lead_out_of_it(place):
    outside = place.skill("elsewhere/out")
    (place.project / ".agents/skills").mkdir(parents=True)
    (place.project / ".agents/skills/out").symlink_to(outside.parent)

    assert place.names() == []
    assert "leads out of" in place.warnings[0]


@pytest.mark.parametrize(
    ("head", "line", "cause"),
    [
        ("no head\n", 1, "does not begin with a head"),
        ("---\nname: x\n", 2, "no second line of ---"),
        ("---\nname: x\n---\n", 1, "`description` is missing"),
        ("---\nname: x\ndescription:\n---\n", 3, "`description` is missing"),
        ("---\nthis is no yaml\n---\n", 2, "'this is no yaml' is no `key: value`"),
        (f"---\ndescription: d\nname: {'x' * 65}\n---\n", 3, "64 letters"),
    ],
    ids=["none", "open", "no description", "empty description", "garbage", "long name"],
)
def test_a_broken_head_is_named_with_its_line_and_leaves_the_others(place, head, line, cause):
    place.skill("home/skills/sound")
    file = place.skill("home/skills/broken")
    file.write_text(head)

    assert place.names() == ["sound"]
    (warning,) = place.warnings
    assert f"{file}:{line}: " in warning
    assert cause in warning
    place.update({})
    assert len(place.warnings) == 1


def test_many_broken_files_do_not_flood_the_session(place):
    for number in range(9):
        place.skill(f"home/skills/broken{number}").write_text("no head\n")

    assert place.names() == []
    assert len(place.warnings) == 4
    assert place.warnings[-1].startswith("6 more skills are left out; `ferrule skills list`")


@pytest.mark.parametrize("target", ["loop", "n" * 300], ids=["circle", "long"])
def test_a_link_that_leads_nowhere_hides_no_other_skill(place, target):
    place.skill("home/skills/sound")
    place.skill("project/.agents/skills/near")
    (place.folder / "home/skills/loop").symlink_to(target)
    (place.project / ".codex").symlink_to(target)

    assert place.names() == ["near", "sound"]


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_is_never_waited_for(place):
    file = place.skill("home/skills/pipe")
    file.unlink()
    os.mkfifo(file)

    assert place.names() == []
    assert "is no regular file" in place.warnings[0]


def test_descriptions_of_several_lines_and_in_quotes_are_read(place):
    place.skill("home/skills/a", ">\n  two\n  lines")
    place.skill("home/skills/b", '"quoted: text"\nmetadata:\n  description: other')

    text = place.fragment().text

    assert "- a: two lines (file" in text
    assert "- b: quoted: text (file" in text


def test_a_list_that_is_too_long_is_shortened_alike_and_told(place):
    for number in range(20):
        place.skill(f"home/skills/s{number:02}", "d" * 1000)
    place.config["skills"] = {"max_context_tokens": 1000}

    text = place.fragment().text

    assert len(place.names()) == 20
    assert text.count("d" * 127 + "…") == 20
    assert len(text) < 6000
    (warning,) = place.warnings
    assert "skills.max_context_tokens = 1000: descriptions are cut to 128 letters;" in warning


def test_what_does_not_fit_at_all_is_left_out_with_a_mark(place):
    for number in range(20):
        place.skill(f"home/skills/s{number:02}", "d" * 1000)
    place.config["skills"] = {"max_context_tokens": 50}

    assert place.names() == [f"s0{n} (file" for n in range(6)]
    assert "(14 more are left out" in place.fragment().text
    assert "14 skills are not listed" in place.warnings[0]


@pytest.mark.parametrize("by", ["name", "file", "folder"])
def test_a_skill_is_switched_off(place, by):
    file = place.skill("home/skills/demo")
    place.skill("home/skills/other")
    choice = {"name": "demo"} if by == "name" else {"path": str(file)}
    if by == "folder":
        choice = {"path": str(file.parent)}
    place.config["skills"] = {"config": [{**choice, "enabled": False}]}

    assert place.names() == ["other"]
    assert place.prompt("$demo") == ""


def test_the_list_can_be_left_out_while_names_still_work(place):
    place.skill("home/skills/demo")
    place.config["skills"] = {"include_instructions": False}

    assert place.fragment() is None
    assert place.update({}) is None
    assert "<name>demo</name>" in place.prompt("$demo")


def test_a_name_in_the_prompt_brings_the_text_of_the_skill(place):
    file = place.skill("project/.agents/skills/demo", "d", "demo-skill", "Use cobalt.\n")
    place.fragment()

    assert place.prompt("use $demo-skill, please. And $HOME") == (
        f"<skill>\n<name>demo-skill</name>\n<path>{file}</path>\n"
        "---\nname: demo-skill\ndescription: d\n---\nUse cobalt.\n\n</skill>"
    )


def test_every_skill_that_is_named_comes_once_and_in_order(place):
    place.skill("home/skills/a")
    place.skill("home/skills/b")
    place.fragment()

    assert place.prompt("$b then $a", "and $b").count("<skill>") == 2
    assert place.prompt("$b then $a").index("<name>b</name>") < 50


@pytest.mark.parametrize("text", ["$demo-skills", "a$demo", "$$demo", "\\$demo", "demo", "$Demo"])
def test_what_only_looks_like_a_name_brings_nothing(place, text):
    place.skill("home/skills/demo")
    place.fragment()

    assert place.prompt(text) == ""


def test_a_skill_that_the_client_sent_along_is_not_brought_twice(place):
    file = place.skill("home/skills/demo")
    place.fragment()

    assert place.prompt("$demo", {"type": "skill", "name": "demo", "path": str(file)}) == ""


def test_a_file_that_is_gone_is_said_in_its_place(place):
    file = place.skill("home/skills/demo")
    place.fragment()
    file.unlink()

    assert "The file cannot be read: No such file" in place.prompt("$demo")


def test_a_link_that_was_put_in_place_of_a_skill_is_not_followed(place):
    file = place.skill("project/.agents/skills/demo")
    place.fragment()
    secret = place.folder / "secret"
    secret.write_text("secret")
    file.unlink()
    file.symlink_to(secret)

    text = place.prompt("$demo")
    assert "The file leads elsewhere since the skills were listed." in text
    assert "secret\n" not in text


def test_skills_that_come_change_or_go_are_told_once(place):
    place.skill("home/skills/stays")
    file = place.skill("home/skills/goes")
    told = {"skills": place.fragment().state}
    assert place.update(told) is None

    new = place.skill("home/skills/comes", "Now there.")
    file.unlink()
    update = place.update(told)

    assert update.text == (
        "Skills that changed, as they are now:\n"
        f"- comes: Now there. (file: {new})\n- goes is not there any more"
    )
    assert place.update({"skills": update.state}) is None
    assert "<name>comes</name>" in place.prompt("$comes")


def test_a_body_that_changes_is_no_news(place):
    file = place.skill("home/skills/demo", text="old")
    told = {"skills": place.fragment().state}
    file.write_text(file.read_text() + "new")

    assert place.update(told) is None
