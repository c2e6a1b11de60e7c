"""What holds of every thread that works for another, tried on random pairs.

Whatever its settings say, and whatever becomes of its parent's meanwhile: what it may do, its
parent may do at that moment.
"""

import json
import random
from itertools import product
from typing import get_args

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule.approvals import may_ask
from ferrule.attempt import effective_policy
from ferrule.ceiling import narrowed, ruled_within
from ferrule.network_approval import NetworkApproval
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule.recipes import RecipeBook
from ferrule.ruling import ruled
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import Operation, decide
from ferrule_hookspecs.recipes import Recipe
from ferrule_hookspecs.review import Verdict
from ferrule_hookspecs.ruling import Case
from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot
from ferrule_hookspecs.services import ChildOptions
from ferrule_hookspecs.tools import Requirement, ToolCall

ACCESS = ("read", "write", "none")
OPERATIONS = [each for each in get_args(Operation) if not each.startswith("connect")]
PLACES = (".", "src", "src/deep", "docs", "docs/a.md", "secrets", "gone", "link")
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
KINDS = ("sandbox_approval", "rules", "mcp_elicitations", "request_permissions")
SEEDS = range(80)


@pytest.fixture
def tree(secluded_path):
    workspace = secluded_path / "ws"
    for name in ("src/deep", "docs", "secrets", ".git/hooks", "src/.git"):
        (workspace / name).mkdir(parents=True)
    for name in ("src/main.c", "docs/a.md", "secrets/x.env", ".git/HEAD", "src/.git/HEAD"):
        (workspace / name).write_text("x")
    (secluded_path / "out").mkdir()
    (secluded_path / "out/file").write_text("x")
    (secluded_path / "home/.ssh").mkdir(parents=True)
    (workspace / "link").symlink_to(secluded_path / "out")
    return secluded_path


def random_policy(dice, tree):
    """Make up a sandbox policy."""
    kind = dice.choice(("none", "read", "write", "write", "profile", "profile"))
    if kind == "none":
        return {"type": "dangerFullAccess"}
    if kind == "read":
        return {"type": "readOnly", "networkAccess": dice.random() < 0.5}
    if kind == "write":
        names = (
            "out",
            "ws/src",
            ".",
            "ws/docs",
            "ws/link",
            "ws/src/deep",
            "ws/.git",
            "ws/src/.git",
        )
        return {
            "type": "workspaceWrite",
            "writableRoots": [str(tree / each) for each in dice.sample(names, dice.randint(0, 3))],
            "networkAccess": dice.random() < 0.5,
            "excludeTmpdirEnvVar": dice.random() < 0.5,
            "excludeSlashTmp": dice.random() < 0.8,
        }
    files = {
        place: dice.choice(ACCESS if place != ":minimal" else ("read",))
        for place in (":root", ":minimal", str(tree), str(tree / "out"))
        if dice.random() < 0.4
    }
    files[":project_roots"] = {name: dice.choice(ACCESS) for name in PLACES if dice.random() < 0.35}
    values = {"permissions": {"p": {"filesystem": files}}, "default_permissions": "p"}
    return mode_to_policy(values, None)


def random_resolved(dice, tree, **config):
    """Resolve a made-up policy; another one where it is refused as a whole."""
    while True:
        cwd = str(tree / dice.choice(("ws", "ws", "ws/src", "ws/src/deep", ".", "ws/.git")))
        if dice.random() < 0.3:
            config["sandbox_deny_read"] = [str(tree / dice.choice(("out", "ws/docs")))]
        try:
            return resolve_policy(
                random_policy(dice, tree),
                cwd,
                environ={"HOME": str(tree / "home"), "TMPDIR": str(tree / "out")},
                home=tree / "home/.ferrule",
                config=config,
            )
        except ConfigError:
            continue


def paths(tree):
    found = [tree, *tree.rglob("*"), tree / "ws/gone", tree / "ws/src/new", tree / "out/new"]
    others = ("/etc/hostname", "/tmp/some-new-name", str(tree / "ws/.vscode/tasks.json"))
    return [*map(str, found), *others]


def allowed(policy, tree):
    files = {
        (operation, path)
        for operation, path in product(OPERATIONS, paths(tree))
        if decide(policy, operation, path) is None
    }
    net = decide(policy, "connect", "example.com:443") is None
    return files | ({("connect", "example.com:443")} if net else set())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_child_may_do_exactly_what_all_above_it_and_itself_may(tree, seed):
    dice = random.Random(seed)
    root, child, grandchild = (random_resolved(dice, tree) for _ in range(3))

    childs = narrowed(child, root)
    theirs = narrowed(grandchild, childs)

    assert allowed(childs, tree) == allowed(child, tree) & allowed(root, tree)
    assert allowed(theirs, tree) == (
        allowed(grandchild, tree) & allowed(child, tree) & allowed(root, tree)
    )


def test_a_child_cannot_write_where_its_parent_protects_what_lies_around_it():
    parent = ResolvedPolicy("workspace-write", "/w", (WritableRoot("/w", read_only=("/w/a",)),))
    child = ResolvedPolicy("workspace-write", "/w", (WritableRoot("/w/a/b"), WritableRoot("/w/c")))

    both = narrowed(child, parent)

    assert decide(both, "write", "/w/a/b/file") is not None
    assert decide(both, "write", "/w/c/file") is None


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_of_a_child_are_the_lower_ones(tree, seed):
    dice = random.Random(seed)

    def bounded():
        policy = random_resolved(dice, tree)
        while policy.unconfined:
            policy = random_resolved(dice, tree)
        return policy._replace(
            max_processes=dice.choice((None, 10, 20)),
            max_memory_bytes=dice.choice((None, 10, 20)),
            unix_sockets=tuple(dice.sample(("/a", "/b", "/c"), dice.randint(0, 3))),
            debugging=dice.random() < 0.5,
        )

    parent, child = bounded(), bounded()
    both = narrowed(child, parent)
    for name in ("max_processes", "max_memory_bytes"):
        limits = [getattr(each, name) for each in (child, parent) if getattr(each, name)]
        assert getattr(both, name) == min(limits, default=None)
    assert set(both.unix_sockets) == set(child.unix_sockets) & set(parent.unix_sockets)
    assert both.debugging == (child.debugging and parent.debugging)


class Thread:
    """What a ruling looks at of a thread: its approval policy, and who is above it."""

    def __init__(self, policy, parent=None):
        fields = {
            "approval_policy": policy,
            "sandbox_policy": {"type": "readOnly"},
            "cwd": "/",
            "extra_roots": (),
        }
        self.settings = type("Settings", (), fields)
        self.parent = parent
        self.family = None


def random_approval(dice):
    if dice.random() < 0.3:
        return {"granular": {kind: dice.random() < 0.5 for kind in KINDS}}
    return dice.choice(("untrusted", "on-failure", "on-request", "never"))


def random_case(dice, policy):
    kind = dice.choice(("skip", "skip", "approval", "forbidden"))
    said = dice.choice(({}, {"rules": Verdict.ask("hm")}, {"rules": Verdict.deny("no")}))
    requirement = Requirement(kind, "why", escalate=dice.random() < 0.3)
    return Case(
        "tool",
        policy,
        said,
        requirement,
        is_read_only=dice.random() < 0.3,
        is_second=dice.random() < 0.3,
    )


@pytest.mark.parametrize("seed", range(300))
def test_a_child_is_never_judged_more_mildly_than_any_thread_above_it(seed):
    dice = random.Random(seed)
    root = Thread(random_approval(dice))
    middle = Thread(random_approval(dice), root)
    child = Thread(random_approval(dice), middle)

    case = random_case(dice, child.settings.approval_policy)
    ruling = ruled_within(child, case)

    for thread in (child, middle, root):
        policy = thread.settings.approval_policy
        alone = ruled(case._replace(approval_policy=policy))
        assert STRICTNESS[ruling.decision] >= STRICTNESS[alone.decision]
        if ruling.decision == "ask":
            assert may_ask(policy, ruling.kinds)


CHOICES = {
    "sandbox_mode": ("read-only", "workspace-write", "danger-full-access", "external-sandbox"),
    "approval_policy": ("untrusted", "on-request", "on-failure", "never"),
    "approvals_reviewer": ("user", "staged"),
    "sandbox_workspace_write.network_access": (True, False),
    "sandbox_workspace_write.writable_roots": (["/"], ["/etc"], []),
    "sandbox_deny_read": ([], ["/etc"]),
    "sandbox_backend": ("none", "staged"),
    "sandbox_accept_gaps": (["network"],),
    "network.enabled": (True,),
    "default_permissions": (":danger-full-access",),
    "features.x": (True, False),
    "tools.touch": (True, False),
    "policy_plugin": ("kernel_plugins",),
    "plugins.allow": (["anything"],),
    "model": ("another",),
}


@pytest.mark.parametrize("seed", range(12))
def test_no_settings_of_a_child_and_no_change_of_its_parent_let_it_do_more(bench, stage, seed):
    dice = random.Random(seed)
    tree = bench.folder
    (tree / "outside").mkdir()
    wanted = {key: dice.choice(values) for key, values in CHOICES.items() if dice.random() < 0.6}
    begins = dice.choice(("read-only", "workspace-write", "danger-full-access"))

    async def script(session):
        child = await session.parts.family.open(ChildOptions(settings=wanted))
        grandchild = await child.parts.family.open(ChildOptions(settings=wanted))
        for _ in range(4):
            then = resolve_policy(
                session.facts.sandbox_policy,
                session.facts.cwd,
                environ=session.parts.context.environ,
                home=session.parts.home,
            )
            for one, above in ((child, session), (grandchild, child)):
                mine, theirs = (effective_policy(each.parts) for each in (one, above))
                assert allowed(mine, tree) <= allowed(theirs, tree) & allowed(then, tree)
                assert set(one.parts.tools) <= set(above.parts.tools)
                assert one.parts.reviewer_name == session.facts.reviewer
                for key in ("sandbox_backend", "policy_plugin", "plugins", "network", "features"):
                    assert one.parts.context.config.get(key) == session.parts.context.config.get(
                        key
                    )
            policy = random_policy(dice, tree)
            if policy["type"] == "permissionProfile":
                policy = {"type": "readOnly"}
            change = {"sandboxPolicy": policy, "approvalPolicy": random_approval(dice)}
            if isinstance(change["approvalPolicy"], dict):
                change["approvalPolicy"] = "never"
            await bench.perform(session, "thread/settings/update", **change)

    bench.run(script, flags={"sandbox_mode": begins})


def test_what_was_granted_to_a_child_is_gone_with_a_change_above_it(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    outside = bench.folder / "outside"
    outside.mkdir()
    wish = {"needs": {"write": [str(outside)]}}
    stage.turns.append([call("grant", json.dumps(wish)), DONE])
    for name in ("before", "after"):
        touch = call("touch", json.dumps({"path": str(outside / name)}))
        stage.turns.extend([[touch, DONE], [*say("ok"), DONE]])
    stage.reviews.append("acceptForSession")

    async def turn(child):
        await bench.start(child)
        async for event in child.events():
            if event["method"] == "turn/completed":
                return

    async def script(session):
        child = await session.parts.family.open(ChildOptions())
        await turn(child)
        narrower = {"sandboxPolicy": {"type": "readOnly"}}
        await bench.perform(session, "thread/settings/update", **narrower)
        await turn(child)

    bench.run(script)

    assert [path.name for path in outside.iterdir()] == ["before"]


def test_recipes_open_no_network_below_a_thread_that_may_only_read(bench):
    async def script(session):
        child = await session.parts.family.open(ChildOptions())
        recipe = Recipe("x", "a host", (), hosts=("a.test",))
        child.parts.recipes = RecipeBook((recipe,), child.parts.context)
        origins = NetworkApproval(
            child.parts, "", ToolCall("c", "t", {}, "{}", "function"), None, None
        )
        assert origins.origin.rules
        narrower = {"sandboxPolicy": {"type": "readOnly"}}
        await bench.perform(session, "thread/settings/update", **narrower)
        assert not origins.origin.rules

    bench.run(script)
