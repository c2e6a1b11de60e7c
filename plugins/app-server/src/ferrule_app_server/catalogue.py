"""The published protocol as names: methods, those that are experimental, and notifications.

Data, in the order in which the protocol lists them; `routes.py` says what answers which method.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


METHODS: Final[tuple[str, ...]] = _names(
    """
    initialize server/diagnostics userVerification/status userVerification/enroll
    userVerification/delete userVerification/verify userVerification/cancel thread/start
    thread/resume thread/fork thread/sample thread/sample/cancel thread/archive thread/delete
    thread/unsubscribe thread/increment_elicitation thread/decrement_elicitation
    thread/name/set thread/prediction/request thread/goal/set thread/goal/get
    thread/goal/clear thread/queue/add thread/queue/list thread/queue/update
    thread/queue/delete thread/queue/reorder thread/queue/start thread/metadata/update
    thread/attachment/add thread/attachment/list thread/attachmentOwner/list
    thread/attachment/remove thread/section/move thread/settings/update thread/memoryMode/set
    thread/memory/read memory/status memory/reset rollout/compress thread/unarchive
    thread/compact/start thread/shellCommand thread/approveGuardianDeniedAction
    thread/backgroundTerminals/clean thread/backgroundTerminals/list
    thread/backgroundTerminals/terminate thread/revert thread/list project/list project/read
    project/create project/import project/update project/move project/delete
    threadSection/list threadSection/create threadSection/update threadSection/delete
    thread/search thread/searchOccurrences thread/loaded/list thread/read
    thread/readState/update thread/turns/list thread/items/list thread/items/read
    thread/guardianReview thread/inject_items thread/prepareApprovedPlan skills/list
    skills/extraRoots/set hooks/list marketplace/add marketplace/remove marketplace/upgrade
    plugin/list plugin/search plugin/installed plugin/reconcile plugin/read plugin/skill/read
    plugin/share/save plugin/share/updateTargets plugin/share/list plugin/share/checkout
    plugin/share/delete app/read app/list app/installed fs/readFile fs/writeFile
    fs/createDirectory fs/getMetadata fs/readDirectory fs/remove fs/copy fs/watch fs/unwatch
    skills/config/write plugin/install plugin/uninstall turn/start turn/settings/update
    turn/steer turn/interrupt thread/realtime/start thread/realtime/appendAudio
    thread/realtime/appendText thread/realtime/appendSpeech thread/realtime/stop
    thread/timeline/list thread/realtime/listVoices review/start model/list
    account/gatewayOAuth/read account/gatewayOAuth/login account/gatewayOAuth/cancel
    modelProvider/list modelProvider/config/write modelProvider/capabilities/read
    experimentalFeature/list permissionProfile/list experimentalFeature/enablement/set
    remoteControl/enable remoteControl/disable remoteControl/status/read
    remoteControl/pairing/start remoteControl/pairing/status remoteControl/client/list
    remoteControl/client/revoke collaborationMode/list mock/experimentalMethod environment/add
    environment/info environment/status mcpServer/oauth/login config/mcpServer/reload
    mcpServerStatus/list mcpServer/resource/read mcpServer/event/stream/start
    mcpServer/event/stream/stop mcpServer/tool/call windowsSandbox/setupStart
    windowsSandbox/readiness account/login/start account/bedrock/discover
    account/bedrock/setup account/gcp/setup account/bedrock/checkGovCloudRequirements
    account/login/cancel accountSession/list accountSession/switch account/logout
    account/securitySetup/read account/rateLimits/read account/rateLimitResetCredit/consume
    account/usage/read account/workspaceMessages/read account/sendAddCreditsNudgeEmail
    feedback/upload feedback/save command/exec command/exec/write command/exec/terminate
    command/exec/resize process/spawn process/writeStdin process/kill process/resizePty
    config/read externalAgentConfig/detect externalAgentConfig/import
    externalAgentConfig/import/recordHistory externalAgentConfig/import/readHistories
    config/value/write config/batchWrite configRequirements/read account/read
    getConversationSummary gitDiffToRemote getAuthStatus fuzzyFileSearch
    fuzzyFileSearch/sessionStart fuzzyFileSearch/sessionUpdate fuzzyFileSearch/sessionStop
    """
)
"""Every method, in the order in which the protocol lists them."""

EXPERIMENTAL: Final[frozenset[str]] = frozenset(
    _names(
        """
    server/diagnostics userVerification/status userVerification/enroll userVerification/delete
    userVerification/verify userVerification/cancel thread/sample thread/sample/cancel
    thread/increment_elicitation thread/decrement_elicitation thread/prediction/request
    thread/queue/add thread/queue/list thread/queue/update thread/queue/delete
    thread/queue/reorder thread/queue/start thread/settings/update thread/memoryMode/set
    thread/memory/read memory/status memory/reset rollout/compress
    thread/backgroundTerminals/clean thread/backgroundTerminals/list
    thread/backgroundTerminals/terminate project/list project/read project/create project/import
    project/update project/move project/delete thread/search thread/searchOccurrences
    thread/readState/update thread/items/read thread/guardianReview thread/prepareApprovedPlan
    plugin/search turn/settings/update thread/realtime/start thread/realtime/appendAudio
    thread/realtime/appendText thread/realtime/appendSpeech thread/realtime/stop
    thread/timeline/list thread/realtime/listVoices remoteControl/enable remoteControl/disable
    remoteControl/status/read remoteControl/pairing/start remoteControl/pairing/status
    remoteControl/client/list remoteControl/client/revoke collaborationMode/list
    mock/experimentalMethod environment/add environment/info environment/status
    mcpServer/event/stream/start mcpServer/event/stream/stop account/bedrock/discover
    account/bedrock/setup account/gcp/setup account/bedrock/checkGovCloudRequirements
    accountSession/list accountSession/switch process/spawn process/writeStdin process/kill
    process/resizePty fuzzyFileSearch/sessionStart fuzzyFileSearch/sessionUpdate
    fuzzyFileSearch/sessionStop
    """
    )
)
"""Methods for clients that ask for the experimental ones."""

NOTIFICATIONS: Final[tuple[str, ...]] = _names(
    """
    error thread/started thread/status/changed thread/readState/changed thread/archived
    thread/deleted thread/unarchived thread/closed thread/reverted skills/changed
    thread/name/updated thread/section/changed thread/attachment/updated thread/goal/updated
    thread/prediction/updated thread/goal/cleared thread/queue/changed project/changed
    thread/project/updated thread/environment/connected thread/environment/disconnected
    thread/settings/updated thread/tokenUsage/updated turn/started hook/started turn/completed
    hook/completed turn/diff/updated turn/plan/updated item/started
    item/autoApprovalReview/started item/autoApprovalReview/completed
    autoApprovalReview/strictReviewRequired item/completed item/agentMessage/delta item/plan/delta
    command/exec/outputDelta process/outputDelta process/exited item/commandExecution/outputDelta
    item/commandExecution/terminalInteraction item/fileChange/outputDelta
    item/fileChange/patchUpdated serverRequest/resolved item/mcpToolCall/progress
    mcpServer/oauthLogin/completed mcpServer/startupStatus/updated
    mcpServer/event/stream/notification account/updated account/gatewayOAuth/changed
    account/rateLimits/updated app/list/updated remoteControl/status/changed
    externalAgentConfig/import/progress externalAgentConfig/import/completed fs/changed
    item/reasoning/summaryTextDelta item/reasoning/summaryPartAdded item/reasoning/textDelta
    thread/compacted model/rerouted model/verification modelProvider/authRecoveryStarted
    modelProvider/authRecoveryCompleted turn/moderationMetadata model/safetyBuffering/updated
    warning guardianWarning deprecationNotice configWarning fuzzyFileSearch/sessionUpdated
    fuzzyFileSearch/sessionCompleted thread/realtime/started thread/realtime/itemAdded
    thread/realtime/item/started thread/realtime/item/transcript/delta
    thread/realtime/item/completed thread/realtime/transcript/delta
    thread/realtime/transcript/done thread/realtime/outputAudio/delta thread/realtime/sdp
    thread/realtime/error thread/realtime/closed windows/worldWritableWarning
    windowsSandbox/setupCompleted account/login/completed
    """
)
"""What a server may tell."""

EXPERIMENTAL_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "thread/start": (
            "allowProviderModelFallback",
            "daybreakEnabled",
            "dynamicTools",
            "environments",
            "experimentalRawEvents",
            "historyMode",
            "mockExperimentalField",
            "multiAgentMode",
            "permissions",
            "projectId",
            "runtimeWorkspaceRoots",
            "selectedCapabilityRoots",
        ),
        "thread/resume": (
            "history",
            "initialTurnsPage",
            "path",
            "permissions",
            "runtimeWorkspaceRoots",
        ),
        "thread/fork": (
            "attachToSource",
            "beforeTurnId",
            "deferGoalContinuation",
            "experimentalDisablePredictionMcp",
            "experimentalPredictionMode",
            "path",
            "permissions",
            "runtimeWorkspaceRoots",
        ),
        "thread/metadata/update": (
            "daybreakEnabled",
            "projectId",
        ),
        "thread/list": (
            "ancestorThreadId",
            "attachedToThreadId",
            "includeAttachedThreads",
            "parentThreadId",
            "projectId",
        ),
        "turn/start": (
            "additionalContext",
            "collaborationMode",
            "cyberAccessProgram",
            "environments",
            "multiAgentMode",
            "permissions",
            "responsesapiClientMetadata",
            "responsesapiClientMetadataPatch",
            "runtimeWorkspaceRoots",
        ),
        "turn/steer": (
            "additionalContext",
            "responsesapiClientMetadata",
            "responsesapiClientMetadataPatch",
        ),
        "command/exec": ("permissionProfile",),
    }
)
"""Parameters of stable methods that are for the same clients only."""

PARAMETERLESS: Final[frozenset[str]] = frozenset(
    {
        "memory/reset",
        "rollout/compress",
        "account/gatewayOAuth/read",
        "account/gatewayOAuth/login",
        "account/gatewayOAuth/cancel",
        "remoteControl/enable",
        "remoteControl/disable",
        "remoteControl/status/read",
        "config/mcpServer/reload",
        "windowsSandbox/readiness",
        "account/logout",
        "account/securitySetup/read",
        "account/rateLimits/read",
        "account/usage/read",
        "account/workspaceMessages/read",
        "externalAgentConfig/import/readHistories",
        "configRequirements/read",
    }
)
"""Methods whose `params` may be left out."""
