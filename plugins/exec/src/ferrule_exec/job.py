"""What is settled before a kernel starts: the configuration, the prompt, the answer's schema."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ferrule_exec.arguments import APPROVE_FOR_ME
from ferrule_exec.errors import ExecError
from ferrule_exec.prompt import Stdin, compose
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import Config, ConfigRequest, Host, ThreadOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_exec.arguments import Arguments
    from ferrule_exec.schema import OutputSchema
    from ferrule_exec.stream import Stream
    from ferrule_hookspecs.change_review import ReviewTarget
    from ferrule_hookspecs.items import UserInput

_UNTRUSTED = "Not inside a trusted directory and --skip-git-repo-check was not specified."


class Job(NamedTuple):
    """A run that is ready to start.

    Attributes:
        arguments: The command line.
        config: The effective configuration.
        prompt: The whole prompt; None where a thread is forked and nothing is asked, and where
            changes are reviewed.
        schema: What the last message must follow.
        review: What is reviewed in place of a prompt.
    """

    arguments: Arguments
    config: Config
    prompt: str | None
    schema: OutputSchema | None
    review: ReviewTarget | None = None

    @property
    def options(self) -> ThreadOptions:
        """How the session is opened."""
        return ThreadOptions(
            config=self.config,
            cwd=self.arguments.cwd,
            ephemeral=self.arguments.ephemeral,
            extra_roots=self.arguments.extra_roots,
        )

    @property
    def input(self) -> list[UserInput]:
        """The user's input: images first, then the text."""
        images: list[UserInput] = [
            {"type": "localImage", "path": path} for path in self.arguments.images
        ]
        return [*images, {"type": "text", "text": self.prompt or ""}]


def prepare(arguments: Arguments, host: Host, progress: Stream) -> Job:
    """Read everything a run needs.

    Raises:
        FerruleError: Something is wrong with it; nothing was started.
    """
    if not os.path.isdir(arguments.cwd):
        raise ExecError(f"Error: the working directory {arguments.cwd!r} does not exist")
    config = _config(arguments, host, progress)
    if arguments.approve_for_me:
        _tell_replaced(arguments, host, progress)
    if not (arguments.skip_git_check or config.is_trusted or _is_in_repository(arguments.cwd)):
        raise ExecError(_UNTRUSTED)
    schema = _schema(arguments.schema_file)
    if arguments.action == "review":
        from ferrule_exec.review_target import review_target

        return Job(arguments, config, None, None, review_target(arguments, progress))
    prompt = _prompt(arguments, progress)  # last: it may wait for input
    return Job(arguments, config, prompt, schema)


def _config(arguments: Arguments, host: Host, progress: Stream) -> Config:
    if arguments.approval_given:
        return host.config(_request(arguments, {}))
    try:
        config = host.config(_request(arguments, {"approval_policy": "never"}))
    except ConfigError:
        # The administrator may not allow it; what else is wrong is wrong with this, too.
        return host.config(_request(arguments, {}))
    if config.get("approvals_reviewer", "user") == "user":
        _tell_unasked(config, progress)
        return config
    # A reviewer that needs no person works here too, so the configured policy holds.
    return host.config(_request(arguments, {}))


def _tell_unasked(config: Config, progress: Stream) -> None:
    """Say so where the user wrote down that somebody is to be asked."""
    written = [each for each in config.layers if each.file and "approval_policy" in each.values]
    policy = written[-1].values["approval_policy"] if written else "never"
    if policy != config.get("approval_policy") == "never":
        progress.write(
            f"warning: `approval_policy = {json.dumps(policy)}` of {written[-1].file} does not"
            " count here, as there may be nobody to ask: what needs approval is refused"
            ' ("never"); give -a, or choose another reviewer than `user`\n'
        )


def _tell_replaced(arguments: Arguments, host: Host, progress: Stream) -> None:
    """Name the settings of files that `--approve-for-me` replaces in this run."""
    flags = {key: value for key, value in arguments.flags.items() if key not in APPROVE_FOR_ME}
    configured = host.config(_request(arguments._replace(flags=flags), {}))
    for key, value in APPROVE_FOR_ME.items():
        origin, was = configured.origin(key), configured.get(key)
        if origin.file is not None and was != value:
            progress.write(
                f"warning: --approve-for-me replaces `{key} = {json.dumps(was)}` of {origin.file}"
                f" by {json.dumps(value)} in this run\n"
            )


def _request(arguments: Arguments, flags: Mapping[str, object]) -> ConfigRequest:
    return ConfigRequest(
        cwd=arguments.cwd,
        profile=arguments.profile,
        overrides=arguments.overrides,
        flags={**arguments.flags, **flags},
        strict=arguments.strict,
        ignore_user=arguments.ignore_user,
        trust_project=arguments.trust,
    )


def _prompt(arguments: Arguments, progress: Stream) -> str | None:
    given = arguments.prompt
    if arguments.action == "fork" and given is None:
        return None
    if arguments.action != "start" and given not in (None, "-"):
        return given
    return compose(given, Stdin(), progress)


def _schema(path: str | None) -> OutputSchema | None:
    if path is None:
        return None
    from ferrule_exec.schema import OutputSchema

    return OutputSchema.read(path)


def _is_in_repository(cwd: str) -> bool:
    folder = Path(cwd)
    return any(_is_repository(parent / ".git") for parent in (folder, *folder.parents))


def _is_repository(git: Path) -> bool:
    # An empty `.git` may be a mount point that a sandbox left; a file points to a worktree's data.
    return git.is_file() or (git / "HEAD").exists()
