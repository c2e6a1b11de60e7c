"""Tunnels that are opened for commands in a real sandbox."""

import datetime
import http.server
import json
import shutil
import ssl
import threading
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("curl") is None, reason="needs bubblewrap, curl"
)

SECRET = "s3cret-of-the-host"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, self.headers["Authorization"]))
        self.send_response(200)
        self.send_header("Content-Length", "8")
        self.end_headers()
        self.wfile.write(b"the page")

    def log_message(self, *arguments):
        """Tests look at `seen`."""


class Site(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that is gone is no news."""


@pytest.fixture
def site(tmp_path):
    """A server that speaks TLS as 127.0.0.1, signed by itself: `certificate` is to be trusted."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "site")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(True, False, False, False, False, True, True, False, False),
            critical=True,
        )
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    trusted, chain = tmp_path / "trusted.pem", tmp_path / "site.pem"
    trusted.write_bytes(certificate.public_bytes(form.Encoding.PEM))
    chain.write_bytes(private + trusted.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    with Site(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.seen, server.certificate = [], trusted
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def sandboxed(ferrule_home, run_ferrule, site):
    """Run a command line in a sandbox whose proxy looks into tunnels to the site."""
    port = site.server_address[1]
    rule = f"allow network protocol:https host:127.0.0.1 port:{port} path:/v1/*"
    ferrule_home.configure(
        tables=(
            "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"
            '[network]\nenabled = true\nlocal_addresses = ["127.0.0.1"]\n'
            f"rules = {json.dumps([rule])}\n"
            '[network.tls]\nintercept = ["127.0.0.1"]\n'
            f'[[network.credentials]]\nhost = "127.0.0.1:{port}"\nheader = "Authorization"\n'
            'value = "Bearer ${SITE_TOKEN}"\n'
        )
    )

    def sandboxed(line):
        environ = {"SITE_TOKEN": SECRET, "SSL_CERT_FILE": str(site.certificate)}
        words = ("sandbox", "-s", "workspace-write", "--", "sh", "-c", line)
        return run_ferrule(*words, environ=environ, timeout=120)

    return sandboxed


def test_curl_in_a_sandbox_reaches_allowed_paths_with_a_secret_it_does_not_have(sandboxed, site):
    base = f"https://127.0.0.1:{site.server_address[1]}"
    done = sandboxed(f"curl -sS {base}/v1/x; echo; curl -sS {base}/v2/x; env")

    assert "the page" in done.stdout
    assert f"GET 127.0.0.1:{site.server_address[1]} is refused" in done.stdout
    assert site.seen == [("/v1/x", f"Bearer {SECRET}")]
    assert SECRET not in done.stdout + done.stderr


def test_the_key_of_the_authority_is_out_of_reach_from_the_first_command_on(
    sandboxed, ferrule_home
):
    key = ferrule_home.path / "network" / "ca.key"
    done = sandboxed(f'cat "{key}"; echo; head -c 30 "$SSL_CERT_FILE"')

    assert key.exists()
    assert "PRIVATE" not in done.stdout
    assert "-----BEGIN CERTIFICATE" in done.stdout
