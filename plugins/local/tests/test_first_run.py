"""`ferrule try` and `ferrule local`, without fetching anything large."""

from __future__ import annotations

import subprocess

import pytest

from ferrule_local.weights import KNOWN, SMALL


@pytest.fixture
def user_home(ferrule_home):
    """A home in which nothing is configured."""
    (ferrule_home.path / "config.toml").unlink()
    return ferrule_home


def test_a_configured_provider_is_used_and_said(ferrule_home, model_server):
    from ferrule_testkit.model_items import function_call, message

    fixed = "sed -i 's/(len(numbers) - 1)/len(numbers)/' stats.py"
    model_server.play([[function_call("exec_command", {"cmd": fixed})], [message("Fixed.")]])
    done = ferrule_home.run("try")
    assert done.returncode == 0, done.stderr
    assert "Using the model provider you have configured: scripted." in done.stdout
    assert "stats.py | 2 +-" in done.stdout
    assert "export OPENAI_API_KEY" in done.stdout


def test_a_task_and_a_folder_of_ones_own(ferrule_home, model_server):
    from ferrule_testkit.model_items import function_call, message

    model_server.play([[function_call("exec_command", {"cmd": "touch new"})], [message("Made.")]])
    done = ferrule_home.run("try", "-C", str(ferrule_home.workspace), "make", "new")
    assert done.returncode == 0, done.stderr
    assert (ferrule_home.workspace / "new").exists()
    assert "?? new" in done.stdout
    assert "make new" in done.stdout


def test_without_any_model_it_says_what_will_be_fetched_and_fails_plainly_offline(user_home):
    environ = {"HF_ENDPOINT": "http://127.0.0.1:1", "PIP_INDEX_URL": "http://127.0.0.1:1/simple"}
    done = user_home.run("try", environ=environ)
    assert done.returncode == 1
    assert "qwen2.5-coder-1.5b-instruct, a small model" in done.stdout
    assert "1.12 GB" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("error: 127.0.0.1 cannot be reached")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], "unexpected argument '--nonsense'"),
        (["-C", "/no/such/folder", "x"], "there is no folder '/no/such/folder'"),
        (["-C", "."], "-C needs a task"),
    ],
    ids=["unknown option", "no folder", "no task"],
)
def test_wrong_usage_is_told(user_home, arguments, words):
    done = user_home.run("try", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_status_and_remove_tell_what_is_there(user_home):
    place = SMALL.place(user_home.path)
    place.parent.mkdir()
    place.with_name(f"{place.name}.pieces").write_bytes(b"x" * 5_000_000)
    status = user_home.run("local", "status").stdout
    assert "5 MB of 1.12 GB fetched; `ferrule local pull --model 1.5b` goes on" in status
    assert "not fetched (491 MB)" in status
    assert "Removed qwen2.5-coder-1.5b-instruct: 5 MB" in user_home.run("local", "remove").stdout
    assert not list(place.parent.glob("*.pieces"))
    assert user_home.run("local", "remove").stdout == "There was nothing to remove.\n"


def test_a_model_nobody_knows_is_named(user_home):
    done = user_home.run("local", "pull", "--model", "7b")
    assert done.returncode == 1
    assert "there is no embedded model '7b': --model takes 1.5b or 0.5b" in done.stderr


def test_pulling_again_fetches_nothing(user_home):
    place = SMALL.place(user_home.path)
    place.parent.mkdir()
    place.write_bytes(b"here")
    done = user_home.run("local", "pull", environ={"HF_ENDPOINT": "http://127.0.0.1:1"})
    assert done.stdout == f"It is already there: {place}\n"


def test_asking_the_embedded_model_without_its_weights_says_what_to_do(user_home):
    done = user_home.run("exec", "-c", "model_provider=local", "hello")
    assert done.returncode == 1
    assert "ferrule local pull" in done.stderr


def test_the_official_checksums_and_sizes_are_pinned():
    assert [(weights.size, weights.sha256[:8], weights.sha256[-7:]) for weights in KNOWN] == [
        (1_117_320_768, "cc324af0", "33bb046"),
        (491_400_064, "1d961463", "1c4ff32"),
    ]


def test_nothing_heavy_is_imported_before_a_request():
    code = (
        "import sys, ferrule_local.provider, ferrule_local.first_run; "
        "print([m for m in ('xllamacpp', 'httpx', 'typer', 'anyio') if m in sys.modules])"
    )
    import sys

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
