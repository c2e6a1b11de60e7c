"""Claims everything and only marks the environment: good enough to see that it was chosen."""

from ferrule_hookspecs import Capabilities, Command, CommandResult, Denial, Launch, ResolvedPolicy

FEATURES = frozenset(
    {
        "filesystem",
        "protected_paths",
        "missing_names",
        "deny_read",
        "network",
        "unix_sockets",
        "pids",
        "ipc",
        "seccomp",
        "proc_sys",
        "resources",
    }
)


class AcmeBackend:
    name = "acme"

    def __init__(self, context: object) -> None:
        self.context = context

    def probe(self) -> Capabilities:
        return Capabilities(True, "a test backend", FEATURES)

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        return Launch(command.argv, {**command.env, "ACME_SANDBOX": policy.mode}, command.cwd)

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        return None

    def files(self, policy: ResolvedPolicy) -> None:
        return None

    async def aclose(self) -> None:
        return None
