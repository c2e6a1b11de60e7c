"""Which files of instructions hold, how they are framed, and what is said where one does not."""

import os
import socket

import pytest


def test_the_users_own_file_comes_first_and_the_nearest_last(place):
    (place.home / "AGENTS.md").write_text("\nglobal rules\n")
    place.write("AGENTS.md", "root rules\n")
    place.write("sub/AGENTS.md", "sub rules\n\n")
    place.write("sub/deeper/AGENTS.md", "deeper\n")

    fragment = place.fragment("sub")

    assert fragment.text == (
        f"# AGENTS.md instructions for {place.project}/sub\n\n<INSTRUCTIONS>\nglobal rules\n\n"
        "--- project-doc ---\n\nroot rules\n\n\nsub rules\n\n\n</INSTRUCTIONS>"
    )
    assert fragment.role == "user"
    assert fragment.source == [
        str(place.home / "AGENTS.md"),
        str(place.project / "AGENTS.md"),
        str(place.project / "sub/AGENTS.md"),
    ]
    assert place.warnings == []


def test_nothing_is_said_where_there_is_no_file(place):
    assert place.fragment() is None
    assert place.update({}) is None
    assert place.warnings == []


def test_an_override_stands_for_the_file_beside_it(place):
    (place.home / "AGENTS.md").write_text("global")
    (place.home / "AGENTS.override.md").write_text("global instead")
    place.write("AGENTS.md", "root")
    place.write("AGENTS.override.md", "root instead")

    assert "global instead\n\n--- project-doc ---\n\nroot instead\n</" in place.text()


def test_an_empty_override_leaves_its_folder_without_instructions(place):
    place.write("AGENTS.md", "root")
    place.write("sub/AGENTS.md", "sub")
    place.write("sub/AGENTS.override.md", "")

    assert "<INSTRUCTIONS>\nroot\n</INSTRUCTIONS>" in place.text("sub")


def test_other_names_count_where_a_folder_has_no_file_of_the_usual_ones(place):
    place.config["project_doc_fallback_filenames"] = ["CLAUDE.md", "RULES.md"]
    place.write("AGENTS.md", "usual")
    place.write("CLAUDE.md", "not this")
    place.write("sub/RULES.md", "not that")
    place.write("sub/CLAUDE.md", "claude rules")

    assert "usual\n\nclaude rules\n</INSTRUCTIONS>" in place.text("sub")


def test_another_name_must_be_the_name_of_a_file(place):
    place.config["project_doc_fallback_filenames"] = ["../secret", "RULES.md"]
    (place.project.parent / "secret").write_text("secret")
    place.write("RULES.md", "rules")

    assert "<INSTRUCTIONS>\nrules\n</INSTRUCTIONS>" in place.text()
    assert "'../secret' is left out" in place.warnings[0]


def test_without_a_root_only_the_working_directory_counts(place):
    place.config["project_root_markers"] = [".nowhere"]
    place.write("AGENTS.md", "above")
    place.write("sub/AGENTS.md", "here")

    assert "<INSTRUCTIONS>\nhere\n</INSTRUCTIONS>" in place.text("sub", root="sub")


def test_a_root_is_marked_as_configured(place):
    place.config["project_root_markers"] = [".top"]
    place.write("sub/.top", "")
    place.write("AGENTS.md", "above")
    place.write("sub/AGENTS.md", "here")
    place.write("sub/in/AGENTS.md", "inside")

    assert "<INSTRUCTIONS>\nhere\n\ninside\n</INSTRUCTIONS>" in place.text("sub/in", root="sub")


def test_what_does_not_fit_is_cut_with_a_mark_and_a_warning(place):
    (place.home / "AGENTS.md").write_text("global rules are not limited")
    place.config["project_doc_max_bytes"] = 20
    place.write("AGENTS.md", "0123456789ab")
    place.write("sub/AGENTS.md", "klmnopqrstuvwxyz")
    place.write("sub/deep/AGENTS.md", "left out")

    text = place.text("sub/deep")

    assert "global rules are not limited" in text
    assert "0123456789ab\n\nklmnopqr\n[Cut here: 8 of 16 bytes" in text
    assert f"[Cut here: 8 of 8 bytes of {place.project}/sub/deep/AGENTS.md" in text
    assert "\nleft out" not in text
    (warning,) = place.warnings
    assert "project_doc_max_bytes = 20" in warning
    assert f"8 of 16 bytes of {place.project}/sub/AGENTS.md" in warning
    assert f"0 of 8 bytes of {place.project}/sub/deep/AGENTS.md" in warning


def test_a_character_is_not_cut_in_two(place):
    place.config["project_doc_max_bytes"] = 4
    place.write("AGENTS.md", "abcéd")

    assert "\nabc\n[Cut" in place.text()
    assert "\ufffd" not in place.text()


def test_no_bytes_allowed_switches_the_projects_files_off(place):
    place.config["project_doc_max_bytes"] = 0
    place.write("AGENTS.md", "root")

    assert place.fragment() is None
    assert place.warnings == []


def test_a_project_that_is_not_trusted_is_not_read_and_one_warning_says_so(place):
    place.is_trusted = False
    (place.home / "AGENTS.md").write_text("mine")
    place.write("AGENTS.md", "theirs")
    place.write("sub/AGENTS.md", "theirs, too")

    assert "<INSTRUCTIONS>\nmine\n</INSTRUCTIONS>" in place.text("sub")
    assert "theirs" not in place.update({}, "sub").text
    (warning,) = place.warnings
    assert warning == (
        f"{place.project}/sub/AGENTS.md and 1 more are not read, because the project"
        f" {place.project} is not trusted; run once with --trust, or set"
        f' projects."{place.project}".trust_level = "trusted"'
    )


def test_who_decided_against_a_project_is_told_how_to_change_that(place):
    place.is_trusted = False
    place.config["projects"] = {str(place.project): {"trust_level": "untrusted"}}
    place.write("AGENTS.md", "theirs")

    assert place.fragment() is None
    assert "--trust" not in place.warnings[0]
    assert place.warnings[0].endswith('.trust_level = "trusted" to change that')


def test_a_folder_outside_of_the_trusted_project_is_another_project(place):
    other = place.project.parent / "other"
    other.mkdir()
    place.config["project_root_markers"] = [".nowhere"]
    (other / "AGENTS.md").write_text("theirs")

    assert place.fragment("../other") is None
    assert "is not trusted" in place.warnings[0]


def test_a_link_within_the_project_is_followed_and_one_that_leaves_it_is_not(place):
    place.write("docs/rules.md", "linked rules")
    (place.project / "AGENTS.md").symlink_to("docs/rules.md")
    secret = place.project.parent / "secret"
    secret.write_text("secret")
    (place.project / "sub").mkdir()
    (place.project / "sub/AGENTS.md").symlink_to(secret)

    assert "<INSTRUCTIONS>\nlinked rules\n</INSTRUCTIONS>" in place.text("sub")
    assert "a link that leads out of" in place.warnings[0]


def test_the_users_own_file_may_be_a_link_to_anywhere(place):
    file = place.project.parent / "dotfiles.md"
    file.write_text("mine")
    (place.home / "AGENTS.md").symlink_to(file)

    assert "mine" in place.text()


@pytest.mark.skipif(os.name != "posix", reason="needs pipes and sockets")
@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "dangling", "loop", "long"])
def test_what_is_no_file_is_named_and_never_waited_for(place, kind, monkeypatch):
    file = place.project / "AGENTS.md"
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "device":
            file.symlink_to("/dev/zero")
        case "socket":
            monkeypatch.chdir(place.project)  # the path of a socket must be short
            with socket.socket(socket.AF_UNIX) as server:
                server.bind("AGENTS.md")
        case "dangling":
            file.symlink_to("nowhere")
        case "long":
            file.symlink_to("n" * 300)
        case _:
            file.symlink_to("AGENTS.md")

    assert place.fragment() is None
    (warning,) = place.warnings
    assert str(file) in warning


def test_a_folder_of_that_name_is_no_file(place):
    (place.project / "AGENTS.md").mkdir()

    assert place.fragment() is None
    assert place.warnings == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(place):
    place.write("AGENTS.md", "x").chmod(0)

    assert place.fragment() is None
    assert "cannot be read: Permission denied" in place.warnings[0]


def test_bytes_that_are_no_utf8_are_replaced_and_told(place):
    place.write("AGENTS.md", b"caf\xe9 rules")

    assert "caf\ufffd rules" in place.text()
    assert "not valid UTF-8" in place.warnings[0]


def test_a_huge_file_is_read_only_as_far_as_it_counts(place):
    size = 1 << 32
    os.truncate(place.write("AGENTS.md", "begin "), size)

    assert len(place.text()) < 40_000
    assert f"32768 of {size} bytes" in place.warnings[0]


def test_changes_are_told_file_by_file_and_once(place):
    place.write("AGENTS.md", "one")
    place.write("sub/AGENTS.md", "two")
    told = {"agents_md": place.fragment("sub").state}
    assert place.update(told, "sub") is None

    place.write("AGENTS.md", "one, changed")
    update = place.update(told, "sub")
    assert "one, changed" in update.text
    assert "two" not in update.text
    assert update.role == "user"
    told = {"agents_md": update.state}
    assert place.update(told, "sub") is None

    (place.project / "AGENTS.md").unlink()
    update = place.update(told, "sub")
    assert update.text.endswith(f"{place.project}/AGENTS.md does not hold any more.")
    told = {"agents_md": update.state}

    (place.project / "sub/AGENTS.md").unlink()
    assert place.update(told, "sub").state == ""


def test_a_file_that_comes_later_is_told(place):
    assert place.fragment() is None
    place.write("AGENTS.md", "new rules")

    assert f"{place.project}/AGENTS.md is new:" in place.update({}).text


def test_a_warning_is_given_once_in_a_thread(place):
    place.is_trusted = False
    place.write("AGENTS.md", "theirs")
    for _ in range(3):
        place.update({})

    assert len(place.warnings) == 1
