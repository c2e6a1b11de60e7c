"""Entries in access lists and held names: when they come, when they go, and what a kill leaves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot
from ferrule_sandbox_windows.holds import Names
from ferrule_sandbox_windows.identities import Identities
from ferrule_sandbox_windows.journal import Journal, Record, mend_abandoned
from ferrule_testkit.confinement import make_policy

READ_ONLY = ResolvedPolicy("read-only", "/")


@pytest.fixture
def workspace(place):
    folder = place / "workspace"
    for name in (".git/hooks", "sub/.git/hooks"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture
def policy(workspace):
    return make_policy(workspace, read_only=(".git/hooks",), pinned=(".git",))


@pytest.fixture
def journals(context):
    return context.home / "sandbox-windows"


def named(machine):
    return {path for path, entries in machine.entries.items() if entries}


def test_commands_of_one_policy_share_an_identity(order_of, policy):
    assert order_of(policy).sid == order_of(policy).sid


def test_commands_of_other_policies_have_other_identities(order_of, policy):
    """What is granted to one command is not granted to the other that runs beside it."""
    assert order_of(policy).sid != order_of(READ_ONLY).sid


def test_a_place_that_is_protected_later_is_added_to_the_identity(order_of, workspace, policy):
    more = make_policy(workspace, read_only=(".git/hooks", "sub/.git/hooks"), pinned=(".git",))

    assert order_of(policy).sid == order_of(more).sid


def test_where_less_is_protected_another_identity_is_taken(order_of, workspace, policy):
    less = make_policy(workspace, read_only=(), pinned=(".git",))

    assert order_of(policy).sid != order_of(less).sid


def test_nothing_is_granted_before_it_is_protected(order_of, machine, workspace, policy):
    machine.unchangeable.add(str(workspace / ".git/hooks"))

    with pytest.raises(SandboxUnavailableError, match=r"\.git/hooks"):
        order_of(policy)
    assert not [e for _, e in machine.entries.get(str(workspace), ()) if e.kind == "allow"]


def test_all_entries_are_taken_back_in_the_end(order_of, token_way, machine, journals, policy):
    order_of(policy)
    assert named(machine)

    token_way.close()
    assert not named(machine)
    assert not list(journals.glob("*.journal"))


def test_what_cannot_be_taken_back_is_said_and_kept_for_the_next(
    order_of, token_way, machine, journals, workspace, policy
):
    order_of(policy)
    machine.unchangeable.add(str(workspace))
    with pytest.raises(SandboxUnavailableError, match="grant nothing to anybody"):
        token_way.close()
    assert named(machine) == {str(workspace)}

    machine.unchangeable.clear()
    assert Identities(machine, journals).mend() == 1
    assert not named(machine)


def test_a_killed_session_is_mended_by_the_next(machine, journals, workspace):
    """The journal is written first, so that it names whatever may have been done."""
    script = (
        "import os, sys, pathlib\n"
        "from ferrule_sandbox_windows.journal import Journal, Record\n"
        "journal = Journal(pathlib.Path(sys.argv[1]))\n"
        "journal.write(Record('S-1-5-21-1-2-3-4', (sys.argv[2],)))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, journals, workspace], check=False)
    machine.entries[str(workspace)] = [("S-1-5-21-1-2-3-4", None), ("S-1-1-0", None)]

    assert Identities(machine, journals).mend() == 1
    assert machine.entries[str(workspace)] == [("S-1-1-0", None)]
    assert not list(journals.glob("*.journal"))


def test_a_session_that_runs_is_left_alone(journals):
    journal = Journal(journals)
    journal.write(Record("S-1-5-21-1-2-3-4", ("/w",)))

    assert mend_abandoned(journals, lambda _: pytest.fail("it runs")) == 0
    journal.finish()


def test_a_torn_last_line_is_passed_over(journals):
    journal = Journal(journals)
    journal.write(Record("S-1-5-21-1-2-3-4", ("/w",)))
    journal.keep()
    (path,) = journals.glob("*.journal")
    with path.open("ab") as file:
        file.write(b'["S-1-5-21')
    seen = []

    assert mend_abandoned(journals, lambda records: seen.extend(records) or True) == 1
    assert seen == [Record("S-1-5-21-1-2-3-4", ("/w",))]


def test_missing_names_have_stand_ins_only_while_commands_run(order_of, launches, workspace):
    policy = make_policy(workspace, forbidden=(".vscode", "gone/.idea"))
    assert order_of(policy).sid == order_of(policy).sid
    assert (workspace / ".vscode").is_dir()

    launches.pop().cleanup()
    assert (workspace / ".vscode").is_dir()
    launches.pop().cleanup()
    assert not (workspace / ".vscode").exists()
    assert not (workspace / "gone").exists()


def test_what_came_into_being_under_a_missing_name_is_named(order_of, launches, workspace):
    order_of(make_policy(workspace, forbidden=(".vscode",)))
    (workspace / ".vscode" / "tasks.json").write_text("x")

    with pytest.raises(SandboxUnavailableError, match=r"\.vscode came into being"):
        launches.pop().cleanup()


def test_a_stand_in_is_no_protected_place_for_the_next_command(order_of, machine, workspace):
    """It can be neither held a second time nor given entries that would outlive it."""
    policy = make_policy(workspace, forbidden=(".vscode",))
    order_of(policy)
    order_of(policy)

    assert str(workspace / ".vscode") not in {*machine.held, *machine.entries}


def test_an_empty_folder_of_a_missing_name_stays_and_is_protected(order_of, launches, workspace):
    (workspace / ".vscode").mkdir()
    order_of(make_policy(workspace, forbidden=(".vscode",)))

    launches.pop().cleanup()
    assert (workspace / ".vscode").is_dir()


def test_names_are_held_together_or_not_at_all(machine, workspace):
    policy = make_policy(workspace, read_only=(".git/hooks",), forbidden=(".vscode", ".idea"))
    machine.unheld.add(str(workspace / ".idea"))

    with pytest.raises(SandboxUnavailableError, match=r"\.idea is protected"):
        Names(machine).hold(policy)
    assert not +machine.held
    assert not (workspace / ".vscode").exists()


def test_a_link_is_held_as_the_link_it_is(order_of, machine, workspace):
    (workspace / "link").symlink_to(".git/hooks")
    order_of(make_policy(workspace, read_only=("link", ".git/hooks")))

    assert machine.held[str(workspace / "link")] == 1


def test_drives_without_access_lists_are_refused(order_of, machine, workspace, policy):
    machine.fat_drives = (str(workspace),)

    with pytest.raises(PolicyUnenforceableError, match="FAT"):
        order_of(policy)
    assert not named(machine)


def test_a_failed_launch_leaves_nothing(order_of, machine, journals, workspace, policy):
    machine.unheld.add(str(workspace / ".git"))

    with pytest.raises(SandboxUnavailableError):
        order_of(policy)
    assert not +machine.held
    assert not list(journals.glob("run-*/order.json"))


def test_commands_of_a_session_share_room_for_temporary_files(order_of, token_way, journals):
    first, second = order_of(READ_ONLY), order_of(READ_ONLY)
    folder = first.env["TEMP"]

    assert first.sid == second.sid
    assert second.env["TEMP"] == folder == first.env["TMPDIR"]
    assert Path(folder).parent.parent == journals
    token_way.close()
    assert not os.path.exists(folder)


def test_a_temporary_folder_that_may_be_written_stays(order_of, place):
    outside = str(place / "outside")
    root = WritableRoot(outside)
    order = order_of(
        ResolvedPolicy("workspace-write", outside, (root,)), env={"Temp": outside, "A": "b"}
    )

    assert order.env["Temp"] == outside
    assert order.env["A"] == "b"


def test_the_launcher_gets_the_bounds_of_the_policy(order_of):
    plain = order_of(READ_ONLY)
    bounded = order_of(READ_ONLY._replace(max_processes=5, max_memory_bytes=1 << 30))

    assert (plain.max_processes, plain.max_memory_bytes) == (1024, None)
    assert (bounded.max_processes, bounded.max_memory_bytes) == (5, 1 << 30)


def test_a_network_that_is_off_is_asked_for_and_no_more(order_of, token_way):
    off, on = order_of(READ_ONLY), order_of(READ_ONLY._replace(network=True))

    assert off.env["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert "HTTPS_PROXY" not in on.env
    assert off.env["FERRULE_SANDBOX"] == "windows"
    assert "network" not in token_way.claims
    assert "deny_read" not in token_way.claims


def test_arguments_that_are_no_text_reach_the_launcher(order_of):
    order = order_of(READ_ONLY, argv=("C:\\x.exe", "\udcff", "日本"))

    assert order.command_line == '"C:\\x.exe" \udcff 日本'
