"""`fuzzyFileSearch*`: files by a few letters of their name."""

from __future__ import annotations

import time
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, NotRequired, cast

from anyio.to_thread import run_sync
from typing_extensions import TypedDict

from ferrule_app_server.methods.file_listing import list_files
from ferrule_app_server.methods.folders import folder
from ferrule_app_server.methods.fuzzy_match import FuzzyIndex, Match
from ferrule_app_server.methods.per_client import PerClient
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_hookspecs.serving import RpcCall

_MOST: Final = 50
_FRESH_S: Final = 3.0
"""So long a list of files is good for the next search, as a person goes on typing."""
_KEPT: Final = 4


class SearchParams(TypedDict):
    """What to look for below which folders; a later search with the same token replaces this."""

    query: str
    roots: list[str]
    cancellationToken: NotRequired[str | None]


class FoundFile(TypedDict):
    """A file or folder that fits, its path relative to the root."""

    root: str
    path: str
    match_type: Literal["file", "directory"]
    file_name: str
    score: int
    indices: list[int] | None


class SearchResult(TypedDict):
    """What fits, best first."""

    files: list[FoundFile]


class SessionStartParams(TypedDict):
    """A search that goes on while a person types; the client names it."""

    sessionId: str
    roots: list[str]


class SessionUpdateParams(TypedDict):
    """What to look for now."""

    sessionId: str
    query: str


class SessionParams(TypedDict):
    """A search."""

    sessionId: str


class SessionUpdatedParams(TypedDict):
    """What fits a query, best first."""

    sessionId: str
    query: str
    files: list[FoundFile]


class Nothing(TypedDict):
    """Done."""


class _Search:
    """One search; it can be told that nobody waits for it any more."""

    def __init__(self) -> None:
        self.is_over = False

    def is_cancelled(self) -> bool:
        return self.is_over


class _Session:
    """A search that goes on while a person types."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = roots
        self.latest = _Search()


class Searches:
    """The searches of one client, and the lists of files they are made in."""

    def __init__(self) -> None:
        """Begin with none."""
        self.sessions: dict[str, _Session] = {}
        self._by_token: dict[str, _Search] = {}
        self._indexes: dict[str, tuple[float, FuzzyIndex]] = {}
        self._listing = Lock()
        self._is_closed = False

    def begin(self, token: str | None) -> _Search:
        """Begin a search; one of the same token is over."""
        search = _Search()
        if token is not None:
            if token in self._by_token:
                self._by_token[token].is_over = True
            self._by_token[token] = search
        return search

    def end(self, token: str | None, search: _Search) -> None:
        """Forget a search."""
        if token is not None and self._by_token.get(token) is search:
            del self._by_token[token]

    async def find(self, query: str, roots: Sequence[str], search: _Search) -> list[FoundFile]:
        """Search below each root; the best of all come first."""
        found: list[tuple[str, Match]] = []
        for root in dict.fromkeys(roots):
            found += await run_sync(partial(self._found, query, root, search.is_cancelled))
        found.sort(key=lambda pair: (-pair[1].score, len(pair[1].listed.path)))
        return [] if search.is_over else [_told(root, match) for root, match in found[:_MOST]]

    def _found(
        self, query: str, root: str, is_cancelled: Callable[[], bool]
    ) -> list[tuple[str, Match]]:
        index = self._index(root)
        return [(root, match) for match in index.search(query, _MOST, is_cancelled)]

    def _index(self, root: str) -> FuzzyIndex:
        """List the files once for all who search there; only the client's end cancels that."""
        with self._listing:
            made, index = self._indexes.get(root, (0.0, None))
            if index is None or time.monotonic() - made > _FRESH_S:
                index = FuzzyIndex(list_files(root, lambda: self._is_closed))
                self._indexes[root] = time.monotonic(), index
                while len(self._indexes) > _KEPT:
                    del self._indexes[next(iter(self._indexes))]
        return index

    async def aclose(self) -> None:
        """End every search."""
        self._is_closed = True
        for search in self._by_token.values():
            search.is_over = True
        for session in self.sessions.values():
            session.latest.is_over = True


def _told(root: str, match: Match) -> FoundFile:
    path = match.listed.path
    return {
        "root": root,
        "path": path,
        "match_type": "directory" if match.listed.is_folder else "file",
        "file_name": path.rpartition("/")[2],
        "score": match.score,
        "indices": list(match.indices),
    }


_searches = PerClient(Searches)


def _roots(call: RpcCall) -> list[str]:
    return [folder(call, root) for root in cast("list[str]", call.params["roots"])]


async def _search(call: RpcCall) -> Mapping[str, object]:
    searches = _searches.of(call.client)
    token = cast("str | None", call.params.get("cancellationToken"))
    search = searches.begin(token)
    try:
        files = await searches.find(str(call.params["query"]), _roots(call), search)
    finally:
        searches.end(token, search)
    return {"files": files}


async def _start_session(call: RpcCall) -> Mapping[str, object]:
    name = str(call.params["sessionId"])
    if not name:
        raise RpcError("sessionId must not be empty")
    _searches.of(call.client).sessions[name] = _Session(_roots(call))
    return {}


async def _update_session(call: RpcCall) -> Mapping[str, object]:
    name, query = str(call.params["sessionId"]), str(call.params["query"])
    searches = _searches.of(call.client)
    session = searches.sessions.get(name)
    if session is None:
        raise RpcError(f"fuzzy file search session not found: {name}")
    session.latest.is_over = True
    search = session.latest = _Search()

    async def work() -> None:
        files = await searches.find(query, session.roots, search)
        if not search.is_over:
            told = {"sessionId": name, "query": query, "files": files}
            call.client.notify("fuzzyFileSearch/sessionUpdated", told)
            call.client.notify("fuzzyFileSearch/sessionCompleted", {"sessionId": name})

    call.client.start_soon(work)
    return {}


async def _stop_session(call: RpcCall) -> Mapping[str, object]:
    session = _searches.of(call.client).sessions.pop(str(call.params["sessionId"]), None)
    if session is not None:
        session.latest.is_over = True
    return {}


METHODS: Final = (
    RpcMethod("fuzzyFileSearch", _search, SearchParams, result=SearchResult),
    RpcMethod(
        "fuzzyFileSearch/sessionStart",
        _start_session,
        SessionStartParams,
        experimental=True,
        result=Nothing,
    ),
    RpcMethod(
        "fuzzyFileSearch/sessionUpdate",
        _update_session,
        SessionUpdateParams,
        experimental=True,
        result=Nothing,
        notifications={
            "fuzzyFileSearch/sessionUpdated": SessionUpdatedParams,
            "fuzzyFileSearch/sessionCompleted": SessionParams,
        },
    ),
    RpcMethod(
        "fuzzyFileSearch/sessionStop",
        _stop_session,
        SessionParams,
        experimental=True,
        result=Nothing,
    ),
)
