"""`ferrule skills`: lists what counts here, and checks files."""

import json

HEAD = "---\nname: demo\ndescription: Does it.\n---\nBody\n"


def write(folder, text=HEAD):
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    return folder / "SKILL.md"


def test_list_shows_what_counts_and_what_does_not(run_ferrule, ferrule_home):
    theirs = write(ferrule_home.workspace / ".agents/skills/demo")
    mine = write(ferrule_home.path / "skills/demo")
    other = write(ferrule_home.path / "skills/other", "---\ndescription: d\n---\n")
    broken = write(ferrule_home.path / "skills/broken", "nothing\n")
    trust = f'[projects."{ferrule_home.workspace}"]\ntrust_level = "trusted"\n'
    ferrule_home.configure(
        tables=f'{trust}[[skills.config]]\nname = "other"\nenabled = false\n',
    )

    text = run_ferrule("skills", "list").stdout
    told = json.loads(run_ferrule("skills", "list", "--json").stdout)

    assert f"demo (project)\n  Does it.\n  {theirs}\n" in text
    assert f"demo (user, hidden by {theirs})\n  Does it.\n  {mine}\n" in text
    assert f"other (user, switched off)\n  d\n  {other}\n" in text
    assert f"error: {broken}:1: does not begin with a head" in text
    assert [(each["name"], each["enabled"]) for each in told["skills"]] == [
        ("demo", True),
        ("demo", True),
        ("other", False),
    ]
    assert told["skills"][1]["shadowedBy"] == str(theirs)
    assert told["errors"][0]["line"] == 1


def test_list_says_what_is_not_trusted(run_ferrule, ferrule_home):
    write(ferrule_home.workspace / ".agents/skills/demo")

    text = run_ferrule("skills", "list").stdout

    assert text.startswith("no skills")
    assert "is not trusted; run once with --trust" in text


def test_check_names_what_is_wrong(run_ferrule, ferrule_home):
    sound = write(ferrule_home.workspace / "skills/sound")
    run = run_ferrule("skills", "check", "skills")
    assert (run.returncode, run.stdout) == (0, "skills/sound/SKILL.md: sound: demo: Does it.\n")

    write(ferrule_home.workspace / "skills/broken", "---\nname: x\n---\n")
    run = run_ferrule("skills", "check", "skills")
    assert run.returncode == 1
    assert "skills/broken/SKILL.md:1: `description` is missing" in run.stdout

    assert run_ferrule("skills", "check", str(sound)).returncode == 0
    assert run_ferrule("skills", "check", str(sound.parent)).returncode == 0
    nothing = run_ferrule("skills", "check", "nowhere")
    assert (nothing.returncode, "cannot be read" in nothing.stdout) == (1, True)
