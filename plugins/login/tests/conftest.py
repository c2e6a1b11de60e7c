"""A home that signs in at a real issuer, and the person in front of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from ferrule_testkit import surroundings
from ferrule_testkit.home import FerruleHome

PROVIDER = "requires_openai_auth = true"


@dataclass
class Waiting:
    """A `ferrule login` that waits for a person.

    Attributes:
        process: It.
        said: What it has said so far.
        url: The page it named.
    """

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    url: str = ""

    def read_until(self, words: str) -> str:
        for line in self.process.stdout:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"{words!r} was never said: {self.end()}")

    def end(self) -> tuple[int, str]:
        """Wait for its end; returns the exit code and everything it said."""
        rest, errors = self.process.communicate(timeout=120)
        return self.process.returncode, "".join(self.said) + rest + errors

    def interrupt(self) -> tuple[int, str]:
        os.kill(self.process.pid, signal.SIGINT)
        return self.end()

    @property
    def query(self) -> dict[str, str]:
        return {key: value[0] for key, value in parse_qs(urlsplit(self.url).query).items()}


@dataclass
class Person:
    """Someone with a terminal and a browser."""

    home: FerruleHome
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def auth_file(self) -> Path:
        return self.home.path / "auth.json"

    def stored(self) -> dict:
        return json.loads(self.auth_file.read_text())

    def begin(self, *arguments: str) -> Waiting:
        """Run `ferrule login` until it waits."""
        process = subprocess.Popen(
            self.home.command(["login", *arguments]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home.workspace,
            env=self.home.environ,
        )
        self.started.append(process)
        waiting = Waiting(process)
        if "--device-auth" in arguments:
            waiting.read_until("Waiting")
        else:
            waiting.url = waiting.read_until("http://").strip()
        return waiting

    def browse(self, url: str) -> httpx.Response:
        """Open a page and go where it leads, as a browser does."""
        return httpx.get(url, follow_redirects=True, timeout=120)

    def sign_in(self) -> tuple[int, str]:
        waiting = self.begin()
        self.browse(waiting.url)
        return waiting.end()


@pytest.fixture
def person(ferrule_home, issuer):
    """Nobody is signed in yet; `issuer` is configured, and no key is set."""
    ferrule_home.environ.pop("SCRIPTED_KEY")
    ferrule_home.configure(provider=PROVIDER, tables=issuer.login_table())
    someone = Person(ferrule_home)
    yield someone
    for process in someone.started:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


@pytest.fixture
def signed_in(person):
    """The person is signed in."""
    code, said = person.sign_in()
    assert code == 0, said
    return person


@pytest.fixture
def free_port():
    """A port that nobody listens at."""
    return surroundings.free_port()
