"""Effects that run once, after an approver has approved exactly that call."""

from .async_client import AsyncClient
from .canonical import canonical_json, digest_of, effect_id, held_task_id
from .claiming.grants import check_grant
from .claiming.worker import Applied, Worker, worker
from .client import Client
from .context import Context, context
from .defaults import Connection, connect
from .effects import AsyncEffect, Effect, effect
from .errors import (
    EffectCancelled,
    EffectError,
    EffectFailed,
    EffectInDoubt,
    EffectRejected,
    GrantRefused,
    HoldpointError,
    LeaseLost,
    NothingHappened,
    OutputsInvalid,
    Unreachable,
    WaitTimeout,
)
from .held import AsyncHeld, Held
from .models import Approval, Capability, ClaimedOrder, HeldEffect, PublishedKeys, Task, TaskEvent, Workflow
from .sse import Event
from .webhooks import WebhookEvent, verify_webhook

__all__ = [
    "Applied",
    "Approval",
    "AsyncClient",
    "AsyncEffect",
    "AsyncHeld",
    "Capability",
    "ClaimedOrder",
    "Client",
    "Connection",
    "Context",
    "Effect",
    "EffectCancelled",
    "EffectError",
    "EffectFailed",
    "EffectInDoubt",
    "EffectRejected",
    "Event",
    "GrantRefused",
    "Held",
    "HeldEffect",
    "HoldpointError",
    "LeaseLost",
    "NothingHappened",
    "OutputsInvalid",
    "PublishedKeys",
    "Task",
    "TaskEvent",
    "Unreachable",
    "WaitTimeout",
    "WebhookEvent",
    "Worker",
    "Workflow",
    "canonical_json",
    "check_grant",
    "connect",
    "context",
    "digest_of",
    "effect",
    "effect_id",
    "held_task_id",
    "verify_webhook",
    "worker",
]
