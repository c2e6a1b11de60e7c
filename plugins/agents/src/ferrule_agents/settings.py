"""What `[agents]` says: whether there are any, how many, how deep, and in which roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext

_KEYS: Final = (
    "enabled",
    "max_threads",
    "max_concurrent_threads_per_session",
    "max_depth",
    "default_subagent_model",
)
_MOST: Final = 6
_DEEPEST: Final = 1
DEFAULT: Final = "default"


class Role(NamedTuple):
    """A kind of agent.

    Attributes:
        description: When to use it, for the model that starts one.
        instructions: What the agent is told to be.
        config_file: A file whose keys hold for the agent, as far as they narrow or do no harm.
        nicknames: What agents of this kind may be called.
    """

    description: str
    instructions: str = ""
    config_file: str = ""
    nicknames: Sequence[str] = ()


_BUILT_IN: Final[Mapping[str, Role]] = {
    DEFAULT: Role("works like you do, for any task."),
    "explorer": Role(
        "answers a question about the code quickly by reading and searching; changes nothing."
        " Start several at once for questions that do not depend on each other, and trust what"
        " they found.",
        "You are here to find something out. Read and search; change no files and start nothing"
        " that lasts. Stop as soon as the question is answered. Report what you found with the"
        " paths and lines that show it, and say plainly what you did not find.",
    ),
    "worker": Role(
        "carries out a described change from start to end: writes code, fixes tests. Tell it"
        " which files are its own, and that others work in the same folder.",
        "You are here to carry out one change. Keep to the files that are yours by the task;"
        " others may be working in the same folder, so leave alone what they changed and do not"
        " take anything back that you did not do. Check your work, then report which files you"
        " changed, how you checked it, and what is left.",
    ),
}


class AgentSettings(NamedTuple):
    """The table `[agents]`.

    Attributes:
        enabled: Whether the tools are offered.
        max_threads: How many agents of one root may be open at a time.
        max_depth: How deep agents may start agents; 1 lets only the root.
        model: The model of agents that nobody names another one for; empty for their parent's.
        roles: All roles by name, the user's own before the built-in ones of the same name.
    """

    enabled: bool
    max_threads: int
    max_depth: int
    model: str
    roles: Mapping[str, Role]

    @classmethod
    def read(cls, context: PluginContext) -> AgentSettings:
        """Read the table."""
        table = context.table("agents")
        most = table.get("max_concurrent_threads_per_session", table.get("max_threads"))
        own = {
            name: _role(cast("Mapping[str, object]", value))
            for name, value in table.items()
            if name not in _KEYS and isinstance(value, Mapping)
        }
        return cls(
            table.get("enabled") is not False,
            _count(most, _MOST),
            _count(table.get("max_depth"), _DEEPEST),
            str(table.get("default_subagent_model") or ""),
            {**_BUILT_IN, **own},
        )

    def descriptions(self) -> dict[str, str]:
        """What each role is for."""
        return {name: role.description for name, role in self.roles.items()}


def _count(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _role(table: Mapping[str, object]) -> Role:
    names = table.get("nickname_candidates")
    listed = cast("Sequence[object]", names) if isinstance(names, list) else ()
    return Role(
        str(table.get("description") or "a role of the user's own."),
        config_file=str(table.get("config_file") or ""),
        nicknames=[str(name) for name in listed],
    )
