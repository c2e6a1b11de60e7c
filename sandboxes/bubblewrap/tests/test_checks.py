"""What the doctor advises on hosts that this one is not."""

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_sandbox_bubblewrap.checks import (
    MEANINGS,
    checks,
    install_command,
    namespaces_check,
)
from ferrule_sandbox_bubblewrap.host_facts import HostFacts


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (HostFacts(userns_clone=0), "kernel.unprivileged_userns_clone=1"),
        (HostFacts(apparmor=1), "/etc/apparmor.d/bwrap"),
        (HostFacts(max_user_namespaces=0, is_root=True), "user.max_user_namespaces=15000"),
        (HostFacts(max_user_namespaces=100, is_container=True), "seccomp=unconfined"),
    ],
    ids=["Debian", "Ubuntu 24.04", "hardened", "container"],
)
def test_the_mend_fits_the_host(facts, words):
    found = namespaces_check(facts, is_working=False)

    assert found.status == "warn"
    assert words in found.mend


def test_every_obstacle_is_named():
    facts = HostFacts(userns_clone=0, apparmor=1, max_user_namespaces=0)

    found = namespaces_check(facts, is_working=False)

    for setting in ("userns_clone", "apparmor_restrict", "max_user_namespaces"):
        assert setting in found.detail


def test_settings_that_do_not_stop_bubblewrap_are_only_shown():
    found = namespaces_check(HostFacts(apparmor=1, is_container=True), is_working=True)

    assert found.status == "ok"
    assert "apparmor_restrict_unprivileged_userns is 1" in found.detail


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("debian", "apt install bubblewrap"),
        ("linuxmint ubuntu debian", "apt install bubblewrap"),
        ("rocky rhel centos fedora", "dnf install bubblewrap"),
        ("opensuse-tumbleweed opensuse suse", "zypper install bubblewrap"),
        ("alpine", "apk add bubblewrap"),
        ("haiku", "install the package bubblewrap of your system"),
    ],
)
def test_the_way_to_install_it_fits_the_system(system, command):
    assert install_command(system) == command


def test_every_check_is_described(tmp_path):
    made = checks(PluginContext(tmp_path, {}, str(tmp_path), environ={"PATH": "/usr/bin"}))

    assert {check.id for check in made} == MEANINGS.keys()
