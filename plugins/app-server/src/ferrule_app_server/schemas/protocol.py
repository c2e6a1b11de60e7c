"""Everything that goes over the wire, by name, with the types that check it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ferrule_app_server.catalogue import EXPERIMENTAL, EXPERIMENTAL_FIELDS
from ferrule_app_server.handshake import InitializeParams
from ferrule_app_server.routes import FALLBACK_ROUTES, OTHER_ROUTES, THREAD_ROUTES
from ferrule_app_server.schemas.notices import ANSWERS, OWN_NOTICES, event_params, request_params
from ferrule_app_server.schemas.replies import REPLIES
from ferrule_hookspecs.serving import RpcMethod

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Exchange(NamedTuple):
    """A request and its answer; a type of None takes any object.

    Attributes:
        params: Type of the parameters.
        result: Type of the answer.
        left_out: Parameters that are not shown.
    """

    params: Any
    result: Any
    left_out: Sequence[str] = ()


class WireProtocol(NamedTuple):
    """The whole protocol, each part by name of the method.

    Attributes:
        calls: What clients may ask.
        notices: What clients are told: types of the parameters.
        questions: What clients are asked.
    """

    calls: Mapping[str, Exchange]
    notices: Mapping[str, Any]
    questions: Mapping[str, Exchange]


def wire_protocol(added: Sequence[RpcMethod], *, experimental: bool) -> WireProtocol:
    """Gather the protocol of a server to which plugins add methods."""
    methods: dict[str, RpcMethod] = {}
    for method in (*_built_in(THREAD_ROUTES, OTHER_ROUTES), *added, *_built_in(FALLBACK_ROUTES)):
        methods.setdefault(method.name, method)
    calls = {"initialize": Exchange(InitializeParams, REPLIES["initialize"])}
    notices = {**dict(event_params()), **OWN_NOTICES}
    for name, method in methods.items():
        if not experimental and (name in EXPERIMENTAL or method.experimental):
            continue
        hidden = () if experimental else EXPERIMENTAL_FIELDS.get(name, ())
        calls[name] = Exchange(method.params, method.result or REPLIES.get(name), hidden)
        notices |= method.notifications
    questions = {name: Exchange(params, ANSWERS.get(name)) for name, params in request_params()}
    return WireProtocol(calls, notices, questions)


def _built_in(*tables: Mapping[str, str]) -> Iterator[RpcMethod]:
    for table in tables:
        for module in dict.fromkeys(table.values()):
            for method in cast("Sequence[RpcMethod]", import_module(module).METHODS):
                if method.name in table:
                    yield method
