"""A hook exists only with a documented contract, an entry in the golden file and a call site."""

from __future__ import annotations

import inspect

import pytest

from ferrule_hookspecs import hooks, markers

HOOKS = [name for name in vars(hooks) if name.startswith("ferrule_")]
PARTS = ["summary", "When", "Args", "Returns", "Errors", "Timeout", "Async", "Added in"]


def test_every_hook_has_a_contract():
    assert set(HOOKS) == set(markers.HOOK_CONTRACTS)
    assert all(hasattr(getattr(hooks, name), f"{markers.PROJECT}_spec") for name in HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_every_docstring_has_its_fixed_parts_in_order(generate, name):
    parts = generate.docstring_parts(getattr(hooks, name))
    assert list(parts) == PARTS
    assert all(parts.values())


@pytest.mark.parametrize("name", HOOKS)
def test_the_documented_deadline_is_the_one_that_holds(generate, name):
    documented = generate.docstring_parts(getattr(hooks, name))["Timeout"]
    assert documented.startswith(f"{markers.HOOK_CONTRACTS[name].timeout_s:g} s")


@pytest.mark.parametrize("name", HOOKS)
def test_an_opinion_fails_closed_by_its_own_words(generate, name):
    errors = generate.docstring_parts(getattr(hooks, name))["Errors"]
    is_opinion = markers.HOOK_CONTRACTS[name].kind in {"assess", "rewrite"}
    assert ("counts as" in errors or "denies the call" in errors) is is_opinion


@pytest.mark.parametrize("name", HOOKS)
def test_r16_every_hook_has_a_section_with_its_exact_arguments(workspace, name):
    page = (workspace / "docs" / "hooks.md").read_text()
    section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
    signature = section.partition("```python\n")[2].partition("```")[0]
    for argument in inspect.signature(getattr(hooks, name)).parameters.values():
        assert f"{argument.name}: {argument.annotation}" in signature


def test_the_page_of_hooks_is_up_to_date(workspace, generate):
    assert (workspace / "docs" / "hooks.md").read_text() == generate.hooks_page(), (
        "run: python docs/generate.py hooks"
    )


def test_the_golden_file_of_the_contract_is_up_to_date(workspace, generate):
    assert (workspace / "hookspecs" / "api.json").read_text() == generate.api_text(), (
        "the contract changed; if that is meant, run: python docs/generate.py api"
    )


@pytest.mark.parametrize("name", HOOKS)
def test_r16_every_hook_has_a_call_site_in_the_kernel(workspace, name):
    kernel = workspace / "core" / "src" / "ferrule"
    sources = [path.read_text() for path in kernel.rglob("*.py")]
    assert any(f'"{name}"' in source for source in sources)


@pytest.mark.parametrize("name", HOOKS)
def test_r16_every_hook_has_a_test_that_calls_it(workspace, name):
    tests = (workspace / "core/tests/test_hook_calls.py").read_text()

    assert f"def test_hook_{name}(" in tests
