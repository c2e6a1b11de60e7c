"""A review of changes: a turn with a conversation of its own, of which the thread keeps the result.

A plugin says how it is done (`ferrule_review_task`); the turn runs under the thread's sandbox,
approvals and budgets, with the tools that the plugin names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.aside_recorder import AsideRecorder
from ferrule.containment import contained
from ferrule.context import environment_text, message, permissions_text, turn_context
from ferrule.conversation import Conversation, input_texts
from ferrule.ids import uuid7
from ferrule.model_facts import facts_about, with_model
from ferrule.turn_job import Input, TurnJob
from ferrule_hookspecs.change_review import ReviewRefusal, ReviewTask
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.session_parts import SessionParts, Settings
    from ferrule.turn import TurnLoop
    from ferrule_hookspecs.change_review import ReviewResult, ReviewTarget
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.items import AgentMessageItem, ExitedReviewItem, ThreadItem, UserInput

_UNFINISHED: Final = "The review was ended before it came to a result."


class Review(NamedTuple):
    """A review that is ready to begin: how it is done, and the settings of its turn."""

    task: ReviewTask
    settings: Settings


async def review_job(parts: SessionParts, settings: Settings, target: ReviewTarget) -> TurnJob:
    """Have a plugin say how something is reviewed.

    Raises:
        FerruleError: It cannot be reviewed; the message is the user's.
    """
    task = await parts.hooks.rewrite("ferrule_review_task", target=target, context=parts.context)
    if isinstance(task, ReviewRefusal):
        raise FerruleError(task.reason)
    if not isinstance(task, ReviewTask):
        raise FerruleError("nothing here reviews changes; install ferrule-review")
    if task.model and task.model != settings.model:
        info = await facts_about(parts.hooks, parts.context, parts.provider_name, task.model)
        settings = with_model(replace(settings, model=task.model), info, parts.context.config)
    return TurnJob(None, review=Review(task, settings))


class ReviewTurn:
    """A review in a turn of a thread.

    Attributes:
        parts: What the turn works with.
        conversation: What its model sees.
    """

    def __init__(self, review: Review, parts: SessionParts, conversation: Conversation) -> None:
        self._task = review.task
        self._recorder = parts.recorder
        self._thread = conversation
        self._aside = AsideRecorder(parts.recorder)
        self.parts = replace(
            parts,
            settings=review.settings,
            recorder=self._aside,
            tools={name: parts.tools[name] for name in parts.tools if name in review.task.tools},
        )
        self.conversation = _ReviewConversation(self._aside, review)

    async def run(self, turn: TurnLoop) -> None:
        """Run the review to its result, which the thread's model reads from now on.

        Raises:
            FerruleError: It came to none.
        """
        self._aside.begin()
        self._thread.user_texts.append(self._task.label)
        for item in _beginning(self._task, self.parts):
            self.conversation.append(item)
        self._show({"type": "enteredReviewMode", "id": uuid7(), "review": self._task.label})
        try:
            await turn.run(Input([{"type": "text", "text": self._task.label}]))
            result = self._result(turn.last_message)
        except BaseException:
            self._show({"type": "exitedReviewMode", "id": uuid7(), "review": _UNFINISHED})
            self._remember(_UNFINISHED)
            turn.expect(None)  # the label is no input that somebody should send again
            turn.conclude(None)
            raise
        exited: ExitedReviewItem = {
            "type": "exitedReviewMode",
            "id": uuid7(),
            "review": result.text,
            "findings": result.findings,
        }
        self._show(exited)
        answer: AgentMessageItem = {"type": "agentMessage", "id": uuid7(), "text": result.text}
        self._remember(result.text)
        turn.conclude(cast("AgentMessageItem", self._show(answer)))

    def _result(self, answer: str | None) -> ReviewResult:
        if not answer:
            raise FerruleError("the reviewing model gave no answer; ask for the review again")
        with contained("the plugin that reviews"):
            return self._task.read(answer)

    def _show(self, item: ThreadItem) -> ThreadItem:
        self._recorder.item_started(item)
        return self._recorder.item_completed(item)

    def _remember(self, text: str) -> None:
        """Tell the thread's own model, which has seen nothing of the review, what came of it."""
        label = self._task.label
        told = (
            "<review_of_changes>\nI had changes reviewed in a conversation apart from this one:"
            f" {label}\nThe answer below is what came of it. I may ask you to mend some of it;"
            " until then, change nothing because of it.\n</review_of_changes>"
        )
        self._thread.append(message("user", told))
        self._thread.append(message("assistant", text))


class _ReviewConversation(Conversation):
    """The reviewing model's side: what the user asked for becomes the task's own prompt.

    The prompt may hold text of strangers, so that only the label counts as the user's words. What
    plugins say of the project, such as its AGENTS.md, is kept away: it may be what is reviewed.
    """

    hears_changes = False

    def __init__(self, recorder: AsideRecorder, review: Review) -> None:
        super().__init__(recorder, told=turn_context(review.settings))
        self._prompt = review.task.prompt

    def take_input(self, content: Sequence[UserInput]) -> None:
        """Store the prompt."""
        self.append(message("user", self._prompt))
        self.prefix_length = len(self.items)  # whatever is shortened: the task stays
        self.user_texts += input_texts(content)


def _beginning(task: ReviewTask, parts: SessionParts) -> list[HistoryItem]:
    """Return what stands before the prompt; instructions of the reviewed project are no part."""
    config, settings = parts.context.config, parts.settings
    items: list[HistoryItem] = [message("developer", task.instructions)]
    developer = [config.get("developer_instructions")]
    if config.get("include_permissions_instructions") is not False:
        developer.append(permissions_text(settings))
    if texts := [text for text in developer if isinstance(text, str) and text]:
        items.append(message("developer", "\n\n".join(texts)))
    if config.get("include_environment_context") is not False:
        items.append(message("user", environment_text(settings)))
    return items
