"""R21: nothing is asked of the network at start-up; updates come only when they are asked for."""

from ferrule_testkit.model_items import message

WATCH = """
import sys
def watch(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
    elif event == "socket.getaddrinfo":
        address = arguments[:2]
    else:
        return
    with open({path!r}, "a") as file:
        file.write(repr(address) + "\\n")
sys.addaudithook(watch)
"""


def test_r21_a_session_with_plugins_talks_to_its_model_and_to_nobody_else(
    twin, hooks_package, model_server, tmp_path
):
    path = tmp_path / "connections"
    twin.begin_with(WATCH.format(path=str(path)))
    twin.put(hooks_package("note", ""))
    wanted = '[[plugin]]\nname = "acme-missing"\nrequirement = "acme-missing"\n'
    (twin.home.path / "plugins.toml").write_text(wanted)
    model_server.play([[message("done")]])

    listed = twin.run("plugins", "list")
    assert "acme-note" in listed.stdout, listed.stderr
    assert not path.exists()
    finished = twin.run("exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    port = twin.home.base_url.rpartition(":")[2].partition("/")[0]
    connections = {line for line in path.read_text().splitlines() if "/" not in line}
    assert connections
    assert [line for line in sorted(connections) if port not in line] == []
