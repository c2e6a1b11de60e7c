"""Runs commands in bubblewrap; `[sandboxes.acme_box] leaks = [...]` makes holes on purpose."""

import os
import shutil

from ferrule_hookspecs import Capabilities, Command, CommandResult, Denial, Launch, ResolvedPolicy

FEATURES = frozenset(
    {"filesystem", "protected_paths", "deny_read", "network", "pids", "ipc", "metadata"}
)


class AcmeBox:
    name = "acme_box"

    def __init__(self, context) -> None:
        self.leaks = context.table("sandboxes", "acme_box").get("leaks", [])

    def probe(self) -> Capabilities:
        found = shutil.which("bwrap") is not None
        return Capabilities(found, "bwrap" if found else "bwrap is missing", FEATURES)

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        words = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
        if not policy.network and "network" not in self.leaks:
            words.append("--unshare-net")
        for root in policy.writable_roots:
            words += ["--bind", root.path, root.path]
            for path in root.read_only:
                if "hooks" not in self.leaks or not path.endswith("/.git/hooks"):
                    words += ["--ro-bind", os.path.realpath(path), os.path.realpath(path)]
        for path in policy.deny_read:
            words += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", os.devnull, path]
        descriptors = ()
        if "descriptor" in self.leaks:
            descriptors = (os.open(os.path.dirname(policy.cwd), os.O_RDONLY),)
        return Launch(
            (shutil.which("bwrap"), *words, "--chdir", command.cwd, "--", *command.argv),
            command.env,
            "/",
            descriptors,
            cleanup=lambda: [os.close(each) for each in descriptors] and None,
        )

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        if result.exit_code and b"Read-only file system" in result.output:
            return Denial("write", "the box is read-only there")
        return None

    def files(self, policy: ResolvedPolicy) -> None:
        return None

    async def aclose(self) -> None:
        return None
