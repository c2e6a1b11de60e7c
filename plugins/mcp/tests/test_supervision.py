"""Servers are started when they are needed, again after a crash, and never stay behind."""

import json
import signal
import subprocess
import time
import tomllib

import anyio
import pytest

from ferrule_testkit.processes import is_running, survivors


def lines(file):
    return file.read_text().split()


def test_a_server_that_is_known_is_not_started_before_it_is_called(talk, table, starts):
    talk.configure(table("demo", "--starts", starts))
    talk.exec()
    assert len(lines(starts)) == 1

    run = talk.exec()

    assert len(lines(starts)) == 1
    assert "mcp__demo__echo" in talk.offered
    assert not run.items("error")
    talk.exec(("mcp__demo__echo", {"text": "x"}))
    assert len(lines(starts)) == 2


def remembered(talk, settings):
    """Have the manifest of a server without delay stand for the slow one."""
    from ferrule_mcp.server_settings import read_servers

    cache = talk.home.path / "cache" / "mcp"
    for text in (settings, settings.replace('"100"', '"0"')):
        tables = tomllib.loads(text)["mcp_servers"]
        ((server,), _) = read_servers(tables, str(talk.home.workspace))
        if text == settings:
            wanted = server.manifest_key
    (cache / f"{wanted}.json").write_text((cache / f"{server.manifest_key}.json").read_text())


def test_slow_servers_that_are_known_do_not_delay_the_first_request(talk, table, model_server):
    slow = [table(f"slow{number}", "--slow", "100") for number in range(10)]
    talk.configure(*[each.replace('"--slow", "100"', '"--slow", "0"') for each in slow])
    talk.exec()
    for settings in slow:  # as if each had been known before it became slow
        remembered(talk, settings)
    talk.configure(*slow)
    talk.play()

    began = time.monotonic()
    run = talk.home.run("exec", "--json", "go")

    assert run.returncode == 0
    assert model_server.requests[-1].at - began < 80
    assert not run.survivors


def test_what_is_waited_for_once_in_vain_is_not_waited_for_again(talk, table, model_server):
    talk.configure(table("slow", "--slow", "100"))
    path = talk.home.path / "config.toml"
    path.write_text(path.read_text().replace("120000", "1500"))
    first = talk.exec()
    assert "ferrule mcp test slow" in first.items("error")[0]["message"]

    path.write_text(path.read_text().replace("1500", "120000"))
    began = time.monotonic()
    talk.exec()

    assert model_server.requests[-1].at - began < 80


def test_a_required_server_that_does_not_start_stops_the_run(talk, table):
    talk.configure(table("gone", required=True, command="/nonexistent/mcp"))

    run = talk.exec()

    assert run.returncode == 1
    assert run.stdout == ""
    assert "required MCP servers cannot be used: 'gone': '/nonexistent/mcp'" in run.stderr


def test_a_required_server_is_waited_for(talk, table):
    talk.configure(table("late", "--slow", "1", required=True))
    path = talk.home.path / "config.toml"
    path.write_text(path.read_text().replace("120000", "10"))

    (call,) = talk.exec(("mcp__late__echo", {"text": "x"})).items("mcp_tool_call")

    assert call["status"] == "completed"


def test_a_server_that_does_not_start_in_time_says_so_and_the_run_goes_on(talk, table):
    talk.configure(table("deaf", "--deaf", startup_timeout_sec=1))

    run = talk.exec()

    assert run.returncode == 0
    assert "'deaf' is not there: it did not start within 1 s" in run.items("error")[0]["message"]
    assert not run.survivors


def test_a_server_that_crashes_is_started_again_for_the_next_call(talk, table, starts):
    talk.configure(table("demo", "--starts", starts))

    crashed, after = talk.run(("mcp__demo__crash", {}), ("mcp__demo__echo", {"text": "x"}))

    assert "ended during the call: it ended with exit code 3" in crashed["error"]["message"]
    assert after["status"] == "completed"
    assert len(lines(starts)) == 2


def test_a_call_that_hangs_ends_at_its_deadline(talk, table):
    talk.configure(table("demo", tool_timeout_sec=1))

    (item,) = talk.run(("mcp__demo__hang", {}))

    assert "within 1 s" in item["error"]["message"]
    assert "mcp_servers.demo.tool_timeout_sec" in item["error"]["message"]


def test_lines_that_are_no_messages_are_logged_and_disturb_nobody(talk, table):
    talk.configure(table("demo", "--garbage"))

    (item,) = talk.run(("mcp__demo__echo", {"text": "x"}))

    assert item["status"] == "completed"
    log = (talk.home.path / "log" / "mcp" / "demo.log").read_text()
    assert "not a message: this is no message" in log


def test_sessions_share_a_server_in_one_folder_and_not_in_two(talk, table, starts, tmp_path):
    talk.configure(table("demo", "--starts", starts))
    counts = []

    async def main(kernel):
        here = [await talk.open(kernel), await talk.open(kernel)]
        counts.append(len(lines(starts)))
        there = await talk.open(kernel, cwd=tmp_path)
        talk.play(("mcp__demo__echo", {"text": "x"}))
        await talk.turn(there)
        counts.append(len(lines(starts)))
        await here[0].close()
        talk.play(("mcp__demo__count", {}))
        await talk.turn(here[1])
        counts.append(talk.items()[-1]["result"]["content"][0]["text"])
        for session in (here[1], there):
            await session.close()
        return kernel.runtime

    talk.host().run(main)

    assert counts == [1, 2, "2"]
    assert not [pid for pid in lines(starts) if is_running(pid)]


ENDS = {"exit": None, "ctrl-c": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", ["--plain", "--ignore-end"])
def test_no_process_stays_behind(talk, table, starts, end, kind):
    talk.configure(*[table(f"s{n}", kind, "--starts", starts) for n in range(2)])
    # What has left its process group is found by the kernel, but by nobody once that is killed.
    apart = {"apart": end != "kill"}
    calls = [("mcp__s0__child", apart), ("mcp__s1__child", apart)]
    last = [] if ENDS[end] is None else [("mcp__s1__hang", {})]
    talk.play(*calls, *last)
    command = talk.home.command(["exec", "--json", "go"])
    marker = f"FERRULE_HOME={talk.home.path}"
    environ = {**talk.home.environ, "HOME": str(talk.home.path)}

    with subprocess.Popen(
        command, cwd=talk.home.workspace, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if ENDS[end] is not None and '"hang"' in line:
                process.send_signal(ENDS[end])
        process.wait(120)

    assert gone(marker, f"HOME={talk.home.path}"), survivors(f"HOME={talk.home.path}")


def gone(*markers):
    """Whether all processes with a marker in their environment end."""

    async def wait():
        with anyio.move_on_after(120):
            while any(survivors(marker) for marker in markers):
                await anyio.sleep(0.05)
            return True
        return False

    return anyio.run(wait)


def test_an_opening_that_is_given_up_leaves_no_server(talk, table, starts, tmp_path):
    gate = ("--gate", tmp_path / "never", "--starts", starts)
    talk.configure(table("late", *gate, required=True, startup_timeout_sec=1000))

    async def main(kernel):
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(talk.open, kernel)
                while not lines(starts):
                    await anyio.sleep(0.05)
                group.cancel_scope.cancel()
            while any(is_running(int(pid)) for pid in lines(starts)):
                await anyio.sleep(0.05)

    talk.host().run(main)


def test_what_a_server_needs_is_in_its_environment_and_no_secret(talk, table):
    keys = {"env": {"SET_HERE": "1"}, "env_vars": ["NAMED_TOKEN"], "cwd": "sub"}
    talk.configure(table("demo", **keys))
    (talk.home.workspace / "sub").mkdir()
    talk.home.environ.update({"NAMED_TOKEN": "t", "OTHER_TOKEN": "o"})

    (item,) = talk.run(("mcp__demo__env", {}))

    told = json.loads(item["result"]["content"][0]["text"])
    assert told["env"]["SET_HERE"] == "1"
    assert told["env"]["NAMED_TOKEN"] == "t"
    assert "OTHER_TOKEN" not in told["env"]
    assert "SCRIPTED_KEY" not in told["env"]
    assert told["cwd"] == str(talk.home.workspace / "sub")


def test_a_program_is_not_looked_for_in_the_workspace(talk, table):
    script = talk.home.workspace / "stranger"
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    talk.home.environ["PATH"] = f".:{talk.home.environ['PATH']}"
    talk.configure(table("demo", command="stranger"))

    talk.run()

    assert not (talk.home.workspace / "ran").exists()
    assert any("no program 'stranger' in PATH" in each["message"] for each in talk.of("warning"))


def test_clients_are_told_how_the_start_of_a_server_goes(talk, table):
    talk.configure(table("good"), table("gone", command="/nonexistent/mcp"))

    talk.run()

    told = [(each["name"], each["status"]) for each in talk.of("mcpServer/startupStatus/updated")]
    assert [status for name, status in told if name == "good"][:2] == ["starting", "ready"]
    assert [status for name, status in told if name == "gone"] == ["starting", "failed"]


def test_the_sdk_is_not_imported_before_a_server_is_really_started(talk, table):
    talk.configure(table("demo"))
    talk.exec()
    talk.play()
    program = (
        "import os, sys; from ferrule.cli import run\n"
        "run(['exec', 'go'], os.environ)\n"
        "print('SDK' if 'mcp' in sys.modules else 'none', file=sys.stderr)\n"
    )
    python = talk.home.command([])[0].replace("/ferrule", "/python")

    done = subprocess.run(
        [python, "-c", program],
        cwd=talk.home.workspace,
        env=talk.home.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines()[-1] == "none", done.stderr
