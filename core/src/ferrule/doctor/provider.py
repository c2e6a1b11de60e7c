"""The configured model provider: its plugin, its key, its server, and whether that has the model.

All of it follows from the provider's table, whatever API it speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

from ferrule.doctor.catalogue_request import Answer, ask_for_models
from ferrule.doctor.credentials import find_key
from ferrule.doctor.network import shown_url
from ferrule.doctor.stored_key import Key
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule.doctor.examination import Examination

_IDS: Final = ("provider.plugin", "provider.credentials", "provider.reachable", "provider.model")
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "host.docker.internal")  # noqa: S104 -- nothing is bound
_SHOWN_MODELS: Final = 5


class _Provider(NamedTuple):
    """The provider a session would use.

    Attributes:
        name: Its entry in `model_providers`.
        table: That entry.
        model: The configured model.
        catalogue_headers: What its API wants beside the key.
    """

    name: str
    table: Mapping[str, object]
    model: str
    catalogue_headers: Mapping[str, str] = MappingProxyType({})

    @property
    def base_url(self) -> str:
        return str(self.table.get("base_url") or "")

    @property
    def is_local(self) -> bool:
        return (urlsplit(self.base_url).hostname or "") in _LOCAL_HOSTS

    def texts(self, key: str) -> dict[str, str]:
        table = self.table.get(key)
        if not isinstance(table, Mapping):
            return {}
        pairs = cast("Mapping[object, object]", table).items()
        return {str(name): str(value) for name, value in pairs}


def checks(examination: Examination) -> Iterator[Check]:
    """Look at the provider that a session would use."""
    if examination.config is None:
        for check_id in _IDS:
            yield Check(check_id, "skip", "the configuration cannot be used")
        return
    values = examination.config.values
    name = str(values.get("model_provider"))
    table = examination.context.table("model_providers", name)
    provider = _Provider(name, table, str(values.get("model") or ""))
    plugin, headers = _plugin(provider, examination)
    yield plugin
    provider = provider._replace(catalogue_headers=headers)
    key = find_key(table, name, examination.environ, examination.kernel.home)
    yield key.check
    yield from _server(provider, key, examination)


def _plugin(provider: _Provider, examination: Examination) -> tuple[Check, Mapping[str, str]]:
    """Make the driver, as a session does; its constructor connects to nothing."""
    from ferrule.plugin_set import PluginSet

    wire = str(provider.table.get("wire_api") or "responses")
    if examination.manager is None:
        return Check("provider.plugin", "skip", "the configuration cannot be used"), {}
    try:
        made = PluginSet(examination.manager, examination.context).provider
    except FerruleError as error:
        mend = "correct the provider's table or install its plugin"
        return Check("provider.plugin", "fail", str(error), mend), {}
    origin = examination.config.origin("model_provider") if examination.config else None
    by = f", as {origin.file or origin.layer} says" if origin else ""
    if origin is not None and origin.layer == "defaults":
        by = " by default"
    text = f"{provider.name} ({made.name}) speaks {wire!r}{by}; the model is {provider.model}"
    headers: Mapping[str, str] = getattr(made, "catalogue_headers", {})
    return Check("provider.plugin", "ok", text), headers


def _server(provider: _Provider, key: Key, examination: Examination) -> Iterator[Check]:
    scheme = urlsplit(provider.base_url).scheme
    if not provider.base_url:
        reason = f"{provider.name} has no address; it needs no server or knows its own"
    elif not examination.may_connect:
        reason = "--no-network"
    elif scheme not in {"http", "https"}:
        mend = "correct `base_url` in the provider's table"
        text = f"{shown_url(provider.base_url)!r} is not an http or https address"
        yield Check("provider.reachable", "fail", text, mend)
        yield Check("provider.model", "skip", "the server was not asked")
        return
    else:
        answer = _ask(provider, key.value, examination)
        yield _reachable(provider, answer, has_key=bool(key.value))
        yield _model(provider, answer)
        return
    yield Check("provider.reachable", "skip", reason)
    yield Check("provider.model", "skip", reason)


def _ask(provider: _Provider, key: str, examination: Examination) -> Answer:
    """Ask with the key as a bearer token, and where that is refused as an `x-api-key`."""
    environ = examination.environ
    headers = {**provider.catalogue_headers, **provider.texts("http_headers")}
    for name, variable in provider.texts("env_http_headers").items():
        if value := environ.get(variable, "").strip():
            headers[name] = value
    answer = Answer()
    for extra in ({"authorization": f"Bearer {key}"}, {"x-api-key": key}) if key else ({},):
        both = {**headers, **extra}
        answer = ask_for_models(provider.base_url, provider.texts("query_params"), both, environ)
        if answer.status not in _REFUSED:
            break
    return answer


def _reachable(provider: _Provider, answer: Answer, *, has_key: bool) -> Check:
    url = shown_url(provider.base_url)
    status = answer.status
    if not status:
        mend = answer.mend
        if provider.is_local:
            mend = f"start the server of {provider.name}, or correct its `base_url`"
        return Check("provider.reachable", "fail", answer.fault, mend)
    if status in _REFUSED and not has_key:
        return Check("provider.reachable", "ok", f"{url} answers; it wants a key ({status})")
    if status in _REFUSED:
        return Check(
            "provider.reachable",
            "fail",
            f"{url} answers, but refuses the key ({status})",
            "make a new key, or check that it belongs to this provider and may be used from here",
        )
    if status == HTTPStatus.OK:
        return Check("provider.reachable", "ok", f"{url} answers")
    return _unusual(url, status)


def _unusual(url: str, status: int) -> Check:
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        mend = "put user name and password of the proxy into the proxy variable"
        return Check("provider.reachable", "fail", f"the proxy to {url} wants a password", mend)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        text = f"{url} answers, but this key may not ask more for now (429)"
        return Check("provider.reachable", "warn", text, "wait, or raise the limit of the account")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        text = f"{url} answers with the error {status}"
        return Check(
            "provider.reachable", "warn", text, "try again later; it is the server's fault"
        )
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        text = f"{url} answers that it is elsewhere ({status})"
        return Check("provider.reachable", "warn", text, "set `base_url` to where it is now")
    text = f"{url} answers ({status}); it lists no models, so the key was not judged"
    return Check("provider.reachable", "ok", text)


def _model(provider: _Provider, answer: Answer) -> Check:
    names, model = answer.models, provider.model
    if names is None:
        return Check("provider.model", "skip", "the server did not list its models")
    if model in names or f"{model}:latest" in names or f"models/{model}" in names:
        return Check("provider.model", "ok", f"the server has {model}")
    # A server with a single model takes any name for it, as llama.cpp's does.
    is_certain = provider.is_local and len(names) != 1
    there = ", ".join(_nearest(model, names)) or "none"
    mend = f"set `model` to one of those, or another of the {len(names)} it has"
    if provider.is_local:
        mend = f"have the server load {model} (with Ollama: ollama pull {model}), or set `model`"
    text = f"the server does not list {model}; it has {there}"
    return Check("provider.model", "fail" if is_certain else "warn", text, mend)


def _nearest(model: str, names: Sequence[str]) -> list[str]:
    close = get_close_matches(model, names, n=_SHOWN_MODELS, cutoff=0.4)
    return close or sorted(names)[:_SHOWN_MODELS]
