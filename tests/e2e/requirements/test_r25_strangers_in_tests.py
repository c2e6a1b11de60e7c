"""R25: the tests of the host do not see the plugins of whoever runs them, nor the reverse."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(600)
QUICK = [
    "tests/kit/tests/test_home.py",
    "core/tests/plugins/test_plugins_manifest.py",
    "core/tests/test_kernel_sharing.py",
]
MORE = ["core/tests/test_kernel_settings.py", "plugins/exec/tests/test_review.py"]
COUNTS = "open({path!r}, 'a').write('ran')\n"


@pytest.fixture
def suite(twin, tmp_path, hooks_package, hostile_plugins):
    """Run files of the suite in an environment with plugins nobody wants to meet there."""
    seen = tmp_path / "seen"
    twin.put(hooks_package("developers_own", COUNTS.format(path=str(seen))))
    twin.put(hostile_plugins.at_import["raises"])
    twin.put(hostile_plugins.in_hooks["raises"])
    (twin.folder / "bin" / "ferrule").write_text(
        f'#!/bin/sh\nexec "{twin.python}" -m ferrule "$@"\n'  # a long path may stand in no #!
    )
    (twin.folder / "bin" / "ferrule").chmod(0o755)

    def run(*paths):
        words = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-x"]
        places = [f"--basetemp={tmp_path / 'inner'}", *paths]
        ended = subprocess.run(
            [twin.python, *words, *places],
            cwd=ROOT,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "inner-cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout[-3000:]
        assert " passed" in ended.stdout
        assert not seen.exists()

    return run


def test_r25_tests_of_the_host_do_not_see_a_developer_s_plugins(suite):
    suite(*QUICK)


@pytest.mark.slow
def test_r25_more_tests_of_the_host_do_not_see_a_developer_s_plugins(suite):
    suite(*MORE)
