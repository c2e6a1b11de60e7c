"""What `[network.tls]` and `[[network.credentials]]` may say, and what a command is given of it."""

import shutil
import ssl
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.egress import EgressRequest
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_network.egress import ProxyEgress
from ferrule_network.host import canonical_host
from ferrule_network.rule import Target, parse_rule
from ferrule_network.settings import settings_of

ENTRY = {"host": "api.test", "header": "Authorization", "value": "Bearer ${TOKEN}"}


class Background:
    """What a kernel does with background work of plugins."""

    def __init__(self, group):
        self._group = group

    def start(self, function, name):
        self._group.start_soon(function, name=name)


@pytest.fixture
def settings(tmp_path):
    """The settings of a table `[network]`."""

    def settings(**table):
        return settings_of(PluginContext(tmp_path, {"network": table}, admin=tmp_path))

    return settings


@pytest.fixture
def egress(tmp_path):
    """Opens a managed network with an environment of Ferrule's own."""

    @asynccontextmanager
    async def egress(warnings=None, environ=None, **table):
        async with anyio.create_task_group() as group:
            context = PluginContext(
                tmp_path,
                {"network": {"enabled": True, **table}},
                admin=tmp_path,
                environ=environ or {},
                runtime=Background(group),
                warn=(warnings if warnings is not None else []).append,
            )
            network = ProxyEgress(context)
            try:
                yield network
            finally:
                await network.aclose()
                group.cancel_scope.cancel()

    return egress


@pytest.mark.parametrize(
    "tls",
    [
        {"intercept": "api.test"},
        {"intercept": [1]},
        {"intercept": ["api*.test"]},
        ["api.test"],
    ],
)
def test_hosts_that_cannot_be_read_are_an_error(settings, tls):
    with pytest.raises(ConfigError, match=r"network\.tls"):
        settings(tls=tls)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"host": "other.test"}, "tunnels are not opened"),
        ({"host": "*.test"}, "tunnels are not opened"),
        ({"host": 1}, "host of"),
        ({"header": "Content-Length"}, "header of"),
        ({"header": "X Y"}, "header of"),
        ({"value": "Bearer abc"}, "must not find the secret"),
        ({"value": None}, "must name a variable"),
        ({"value": "${OUTPUT}"}, "belong together"),
        ({"command": ["print-token"]}, "belong together"),
        ({"command": "print-token"}, "list of words"),
        ({"secret": "abc"}, "knows no 'secret'"),
    ],
)
def test_credentials_that_cannot_be_used_are_an_error(settings, changed, why):
    with pytest.raises(ConfigError, match=why):
        settings(tls={"intercept": ["api.test"]}, credentials=[ENTRY | changed])


@pytest.mark.parametrize(
    ("host", "target", "wanted"),
    [
        ("api.test", "api.test:443", True),
        ("api.test", "api.test:8443", False),
        ("api.test:8443", "api.test:8443", True),
        ("api.test", "b.api.test:443", False),
        ("*.api.test", "b.api.test:443", True),
        ("*.api.test", "api.test:443", False),
    ],
)
def test_a_secret_goes_to_its_host_and_port_only(settings, host, target, wanted):
    found = settings(
        tls={"intercept": ["api.test", "*.api.test"]}, credentials=[ENTRY | {"host": host}]
    )
    name, _, port = target.partition(":")
    about = Target(canonical_host(name), int(port), "https", "GET", "/")

    assert bool(found.interception.secrets_for(about)) is wanted
    assert found.interception.secrets_for(about._replace(method="")) == []
    assert found.interception.secrets_for(about._replace(method="TRACE")) == []
    assert found.interception.secrets_for(about._replace(protocol="http")) == []


def test_a_rule_about_paths_of_a_host_that_is_not_opened_allows_nothing_and_says_why(settings):
    rule = "allow network protocol:https host:api.test path:/v1/*"
    judged = settings(rules=[rule]).judge(Target(canonical_host("api.test"), 443, "https"))

    assert judged.decision == "deny"
    assert rule in judged.why
    assert "add the host to `intercept` of [network.tls]" in judged.why


def test_a_restriction_about_paths_of_a_host_that_is_not_opened_closes_it(settings):
    rules = ["allow network host:api.test", "deny network host:api.test path:/admin/*"]
    judged = settings(rules=rules).judge(Target(canonical_host("api.test"), 443, "https"))

    assert judged.decision == "deny"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/v1/*", "/v1/", True),
        ("/v1/*", "/v1/a/b", True),
        ("/v1/*", "/v1", False),
        ("/v1/*/read", "/v1/a/read", True),
        ("/v1/*/read", "/v1/a/b/read", False),
        ("/v1/a,/v1/b", "/v1/b", True),
        ("/v1/a", "/v1/ab", False),
        ("/v1/a", "/v1/%61", True),
        ("/*", "", False),
    ],
)
def test_a_pattern_fits_whole_paths(pattern, path, fits):
    rule = parse_rule(f"allow network host:a.test path:{pattern}", "test")

    assert rule.covers(Target(canonical_host("a.test"), 443, "https", "GET", path)) is fits
    assert rule.covers(Target(canonical_host("a.test"), 80, "http", "GET", path)) is fits
    assert parse_rule(str(rule), "test") == rule


@pytest.mark.anyio
async def test_a_command_gets_the_authorities_and_placeholders_and_no_secret(egress, tmp_path):
    own = tmp_path / "own.pem"
    own.write_bytes(b"of the system\n")
    environ = {"TOKEN": "s3cret", "SSL_CERT_FILE": str(own)}
    tls = {"intercept": ["api.test"]}
    async with egress(environ=environ, tls=tls, credentials=[ENTRY]) as network:
        opened = await network.open(EgressRequest(("curl",)))

    bundle = opened.environment["SSL_CERT_FILE"]
    assert opened.environment["NODE_EXTRA_CA_CERTS"] == opened.environment["PIP_CERT"] == bundle
    assert opened.door.readable == (bundle,)
    assert Path(bundle).read_bytes().startswith(b"of the system\n-----BEGIN CERTIFICATE")
    assert opened.environment["TOKEN"]
    assert "s3cret" not in str(opened.environment)


@pytest.mark.anyio
async def test_the_authorities_of_the_system_stay_trusted(egress):
    async with egress(tls={"intercept": ["api.test"]}) as network:
        opened = await network.open(EgressRequest(("curl",)))

    context = ssl.create_default_context(cafile=opened.environment["SSL_CERT_FILE"])
    assert len(context.get_ca_certs()) > 1


@pytest.mark.anyio
async def test_where_nothing_is_opened_nothing_is_made(egress, tmp_path):
    async with egress() as network:
        opened = await network.open(EgressRequest(("curl",)))

    assert "SSL_CERT_FILE" not in opened.environment
    assert opened.door.readable == ()
    assert not (tmp_path / "network").exists()


@pytest.mark.anyio
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
async def test_without_the_library_the_hosts_are_closed_with_the_reason(egress, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    warnings = []
    rules = ["allow network host:api.test"]
    async with egress(warnings, tls={"intercept": ["api.test"]}, rules=rules) as network:
        opened = await network.open(EgressRequest(("curl",)))
        proxy = opened.environment["FERRULE_NETWORK_PROXY"]
        program = ["curl", "-sv", "--proxy", proxy, "https://api.test/"]
        said = await anyio.run_process(program, check=False)

    assert "ferrule-network[tls]" in warnings[0]
    assert "SSL_CERT_FILE" not in opened.environment
    assert b"403" in said.stderr
    assert b"ferrule-network[tls]" in said.stderr
