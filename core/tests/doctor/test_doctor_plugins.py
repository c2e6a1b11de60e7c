"""Checks of plugins: shown with the others, and contained when they go wrong."""

import pytest

from ferrule_testkit.home import API_KEY

GROUP = "ferrule.plugins"
HEAD = """
from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.hooks import Check
"""
LOCAL = ("--no-network", "--only", "coffee", "plugins", "git")


def hook(body):
    return f"{HEAD}\n@hookimpl\ndef ferrule_checks(context):\n    {body}\n"


def test_checks_of_a_plugin_stand_with_the_others(doctor, checkout):
    body = 'return [Check("coffee.level", "warn", f"low in {context.cwd}", "brew")]'

    report = doctor(*LOCAL, environ=checkout("barista", GROUP, hook(body)))

    found = report["coffee.level"]
    assert (found["category"], found["plugin"], found["mend"]) == ("coffee", "barista", "brew")
    assert report.ids == sorted(report.ids)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('raise RuntimeError("no beans")', "raised RuntimeError: no beans"),
        ("raise SystemExit(3)", "SystemExit"),
        ("return 7", "returned no checks"),
        ("return [7]", "is not a Check"),
        ('return [Check("coffee.level", "great", "x")]', "is not a Check"),
        ('return [Check("coffee", "ok", "x")]', "is not a Check"),
    ],
)
def test_a_faulty_plugin_is_a_failed_check_and_the_rest_goes_on(doctor, checkout, body, words):
    report = doctor("--no-network", "--only", "git", environ=checkout("barista", GROUP, hook(body)))

    found = report["plugins.checks.barista"]
    assert report.returncode == 1
    assert found["status"] == "fail"
    assert "plugin 'barista' (barista-plugin 1.0" in found["detail"]
    assert words in found["detail"]
    assert found["mend"] == "mend the checkout, or leave out --dev-plugin"
    assert report.status("git.version") == "ok"


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        hook("import time; time.sleep(300)"),
        hook("import anyio; await anyio.sleep(300)").replace("def ", "async def "),
    ],
    ids=["blocking", "async"],
)
def test_a_plugin_that_hangs_is_given_up_after_its_deadline(doctor, checkout, source):
    report = doctor("--only", "git", environ=checkout("barista", GROUP, source))

    assert "did not answer within 20 s" in report["plugins.checks.barista"]["detail"]
    assert report.status("git.version") == "ok"


def test_a_broken_plugin_is_named_with_its_mend(doctor, checkout):
    environ = checkout("barista", GROUP, "import a_module_nobody_has")

    found = doctor("--no-network", environ=environ)["plugins.entry.plugins.barista"]

    assert found["status"] == "fail"
    assert "a_module_nobody_has" in found["detail"]
    assert found["mend"]


def test_a_plugin_that_claims_a_name_of_ours_is_named(doctor, checkout):
    environ = checkout("responses", "ferrule.providers", "class P: pass", ":P")

    found = doctor("--no-network", environ=environ)["plugins.entry.providers.responses"]

    assert found["status"] == "warn"
    assert "belongs to ferrule-responses" in found["detail"]


def test_plugins_that_are_required_and_missing_fail(doctor, ferrule_home):
    ferrule_home.configure(tables='[plugins]\nrequired = ["acme-guard"]')

    report = doctor("--no-network", "--only", "plugins")

    assert report.returncode == 1
    assert "acme-guard" in report["plugins.required"]["detail"]


def test_plugins_that_are_switched_off_are_listed_and_not_asked(doctor, ferrule_home):
    ferrule_home.configure(tables='[plugins]\ndisabled = ["ferrule-files"]')

    report = doctor("--no-network")

    assert "files" in report["plugins.usable"]["detail"]
    assert "search.ripgrep" not in report.ids


def test_a_reviewer_nobody_installed_is_found_before_a_session_needs_it(doctor, ferrule_home):
    ferrule_home.configure(top='approvals_reviewer = "oracle"')

    found = doctor("--no-network", "--only", "plugins")["plugins.named"]

    assert found["status"] == "fail"
    assert "'oracle'" in found["detail"]


def test_no_key_is_ever_in_the_report(doctor, ferrule_home):
    ferrule_home.configure(provider='experimental_bearer_token = "sk-in-the-file"')

    report = doctor("--all")

    assert API_KEY not in report.text
    assert "sk-in-the-file" not in report.text
