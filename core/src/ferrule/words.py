"""Says in words what a plugin is, where it comes from and what it takes part in.

Shown by `ferrule plugins show`, and before anybody is asked to trust a plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.approval_record import approval_fault, checkout_of
from ferrule.compatibility import compatibility_doubt
from ferrule.isolation.choice import is_isolated
from ferrule_hookspecs.slots import (
    COMMAND_GROUP,
    HOOK_GROUP,
    PLUGIN_COMMAND_GROUP,
    SANDBOX_COMMAND_GROUP,
    SETTINGS_GROUP,
    TOOL_GROUP,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule_hookspecs.manifest import Manifest

_INSIDE: Final = "runs in the process of Ferrule, with all of your rights and unconfined"
_APART: Final = (
    "runs in a confined process of its own, which can read what commands can read, and beyond that"
    " use what it asks for and nothing else"
)
_VERBS: Final = ("read", "change", "talk to", "be given the variables")
_POWERS: Final = {"assess": ", and refuse", "gather": "", "observe": "", "rewrite": ""}
_GROUP_WORDS: Final = {
    TOOL_GROUP: "offers the model the tool",
    COMMAND_GROUP: "adds the command",
    SANDBOX_COMMAND_GROUP: "adds to `ferrule sandbox` the word",
    PLUGIN_COMMAND_GROUP: "adds to `ferrule plugins` the word",
    SETTINGS_GROUP: "is configured by the table plugins.settings, under",
    "ferrule.sandboxes": "confines commands as the sandbox",
    "ferrule.reviewers": "decides about approvals as the reviewer",
    "ferrule.transports": "lets clients in as the transport",
    "ferrule.providers": "sends your conversation to a model as the provider",
    "ferrule.stores": "keeps your conversations as the store",
    "ferrule.compactors": "rewrites long conversations as the compactor",
    "ferrule.servers": "serves clients as",
    "ferrule.engines": "runs threads elsewhere as the engine",
}


def in_words(entries: Sequence[Entry], values: Mapping[str, object]) -> str:
    """Describe one distribution by all of its entries.

    Args:
        entries: The entries of one distribution, at least one.
        values: The configuration, which decides where tools run.
    """
    first = entries[0]
    publisher = first.publisher or "an unnamed publisher"
    is_checkout = first.is_dev or first.is_editable
    place = f"a checkout in {first.roots[0]}" if is_checkout else f"installed in {first.location}"
    apart = [entry for entry in entries if is_isolated(entry, values)]
    inside = [entry for entry in entries if entry not in apart]
    lines = [f"{first.distribution} {first.version} by {publisher}, {place},"]
    for runs, those in ((_INSIDE, inside), (_APART, apart)):
        if those:
            lines.append(f"{'and ' if len(lines) > 1 else ''}{runs}, and")
            lines += [f"  - {phrase}" for entry in those for phrase in _phrases(entry)]
    manifests = dict.fromkeys(entry.manifest for entry in entries)  # each package has its own
    wishes = dict.fromkeys(phrase for each in manifests for phrase in _wishes(each))
    lines += [f"  - {phrase}" for phrase in wishes]
    if doubt := compatibility_doubt(first):
        lines.append(f"  - {doubt}")
    if inside and any(any(each.capabilities) for each in manifests):
        lines.append("What runs in the process of Ferrule is not held to what it asks for.")
    return "\n".join(lines)


def approval_in_words(entry: Entry) -> str:
    """Say what an approval of an entry's distribution covers, and whether it is given."""
    if checkout := checkout_of(entry):
        covers = (
            f"An approval covers the place {checkout} and not its contents: whoever may write there"
            " decides what runs."
        )
    else:
        covers = f"An approval covers this version and its contents, {entry.record_hash}."
    if entry.approval is None:
        return f"{covers}\nNobody has approved it yet."
    fault = approval_fault(entry, is_required=True)
    state = f"It is {fault}" if fault.startswith("changed") else fault
    return f"{covers}\n{state or f'You approved it on {entry.approval.when[:10]}.'}"


def _wishes(manifest: Manifest) -> list[str]:
    """Say what a package asks for beyond what its entries are."""
    phrases = [
        f"asks to {verb} {', '.join(asked)}"
        for verb, asked in zip(_VERBS, manifest.capabilities, strict=True)
        if asked
    ]
    if manifest.guards:
        phrases.append("guards: what it judges is refused where it cannot be used")
    return phrases


def _phrases(entry: Entry) -> list[str]:
    if entry.group != HOOK_GROUP:
        return [f"{_GROUP_WORDS[entry.group]} {entry.name!r}"]
    if entry.probe is None:
        return [f"takes part in sessions as {entry.name!r} (in what is known after its first use)"]
    from ferrule_hookspecs import hooks, markers

    phrases: list[str] = []
    for hook in entry.hooks:
        contract = markers.HOOK_CONTRACTS.get(hook)
        summary = (getattr(hooks, hook, None).__doc__ or hook).partition("\n")[0].rstrip(".")
        power = _POWERS[contract.kind] if contract else ""
        phrases.append(f"may {summary[0].lower()}{summary[1:]}{power} ({hook})")
    return phrases
