"""What an import does to others is seen in the probe, and blamed on nobody else."""

import pytest

FAULTS = {
    "forks": ("import os\nif os.fork() == 0: os._exit(0)\nos.wait()", "forks the process"),
    "connects": (
        "import socket\nwith socket.socket() as s:\n    s.connect_ex(('127.0.0.1', 9))",
        "connects to 127.0.0.1",
    ),
    "listens": ("import socket\nsocket.create_server(('127.0.0.1', 0)).close()", ""),
    "serves": ("import socket\nsocket.create_server(('', 0)).close()", "listens on the network"),
    "builtins": ("import builtins\nbuiltins.open = None", "replaces builtins.open"),
    "os": ("import os\nos.replace = print", "replaces os.replace"),
    "contract": (
        "from ferrule_hookspecs.review import Verdict\nVerdict.deny = Verdict.allow",
        "replaces ferrule_hookspecs.review.Verdict.deny",
    ),
    "strictness": (
        "import ferrule.dispatcher\nferrule.dispatcher.strictest = None",
        "replaces ferrule.dispatcher.strictest",
    ),
    "raises, too": ("import builtins\nbuiltins.open = None\nraise ValueError('x')", "ValueError"),
}


QUICK = ("forks", "contract", "listens")


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        pytest.param(*case, id=name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name, case in FAULTS.items()
    ],
)
def test_r03_what_an_import_does_to_others_is_a_fault_of_it_alone(site, source, fault):
    site.add_hooks("a_good", "")
    site.add_hooks("b_bad", source)
    site.add_hooks("c_good", "open(__file__).close()")
    site.add_hooks("d_good", "")
    manager = site.manager()
    good = ["a_good", "c_good", "d_good"]
    if fault:
        assert manager.names("ferrule.plugins") == good
        assert fault in site.reports[0]
    else:
        assert manager.names("ferrule.plugins") == sorted([*good, "b_bad"])
