"""The requests of the HTTP API as data, common to the synchronous and the asynchronous client."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from time import time_ns
from typing import Any, TypedDict
from urllib.parse import quote

from .canonical import SAFE_INTEGER, digest_of
from .errors import HoldpointError
from .http import Call
from .models import (
    Approval,
    BeatAnswer,
    Capability,
    ClaimAnswer,
    Decision,
    EndAnswer,
    HeldEffect,
    PublishedKeys,
    Task,
)

#: The longest wait of one request, in seconds.
POLL_SECONDS = 25.0


#: Events in one answer about the history of a task.
HISTORY_PAGE = 500


class HoldOptions(TypedDict, total=False):
    """Options of a hold. `None` is the default of each. `approval_timeout` is in seconds.

    `callback` is the URL that gets a signed webhook when the effect has ended or is in doubt.
    """

    reason: str | None
    audience: Sequence[str] | None
    approval_timeout: float | None
    pool: str | None
    callback: str | None


class Unsafe(ValueError):
    """A value that JSON numbers cannot carry."""


def _path(*parts: str) -> str:
    return "/" + "/".join(quote(part, safe="") for part in parts)


def check_numbers(value: Any) -> None:
    """Raises `Unsafe` for integers that would lose digits: people would approve another number."""
    if isinstance(value, bool):
        return
    if isinstance(value, int) and abs(value) > SAFE_INTEGER:
        raise Unsafe(f"{value} loses digits in JSON; pass it as text")
    if isinstance(value, Mapping):
        for inner in value.values():
            check_numbers(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            check_numbers(inner)


def hold(
    capability: str,
    args: Mapping[str, Any],
    key: str,
    *,
    reason: str | None = None,
    audience: Sequence[str] | None = None,
    approval_timeout: float | None = None,
    pool: str | None = None,
    callback: str | None = None,
) -> Call[HeldEffect]:
    check_numbers(args)
    given = _without_none(
        reason=reason,
        audience=list(audience) if audience is not None else None,
        approvalTimeoutMs=round(approval_timeout * 1_000) if approval_timeout is not None else None,
        pool=pool,
        callback={"url": callback} if callback is not None else None,
    )
    body = {"capability": capability, "args": dict(args), "key": key, **given}
    return Call("POST", "/effects", HeldEffect, body=body)


def effect(id_: str, wait: float = 0, unless: str | None = None) -> Call[HeldEffect]:
    query = {"waitMs": round(wait * 1_000) if wait else None, "not": unless}
    return Call("GET", _path("effects", id_), HeldEffect, query=query, waits=wait)


def cancel_effect(id_: str, reason: str | None) -> Call[dict[str, Any]]:
    return Call("POST", _path("effects", id_, "cancel"), dict, body=_without_none(reason=reason))


def claim(body: Mapping[str, Any]) -> Call[ClaimAnswer]:
    return Call("POST", "/claims", ClaimAnswer, body=body, waits=body.get("waitMs", 0) / 1_000)


def beat(body: Mapping[str, Any]) -> Call[BeatAnswer]:
    return Call("POST", "/claims/beats", BeatAnswer, body=body)


def end(body: Mapping[str, Any]) -> Call[EndAnswer]:
    return Call("POST", "/claims/ends", EndAnswer, body=body)


def claimants(after: str | None) -> Call[dict[str, Any]]:
    return Call("GET", "/claimants", dict, query={"after": after})


def keys(nonce: str | None = None) -> Call[PublishedKeys]:
    return Call("GET", "/keys", PublishedKeys, query={"nonce": nonce})


def whoami() -> Call[dict[str, Any]]:
    return Call("GET", "/whoami", dict)


def capabilities(name: str | None, after: str | None) -> Call[dict[str, Any]]:
    return Call("GET", "/capabilities", dict, query={"name": name, "after": after})


def register(definition: Capability) -> Call[Capability]:
    return Call("POST", "/capabilities", Capability, body=definition.body())


def withdraw(name: str) -> Call[Capability]:
    return Call("DELETE", _path("capabilities", name), Capability)


def approvals(filters: Mapping[str, Any], after: str | None) -> Call[dict[str, Any]]:
    return Call("GET", "/approvals", dict, query={**filters, "after": after})


def approval(id_: str) -> Call[Approval]:
    return Call("GET", _path("approvals", id_), Approval)


def decide(seen: Approval, decision: str, comment: str | None, response: Any) -> Call[Decision]:
    """The decision counts only for the effect that the decider saw."""
    if digest_of(seen.effect) != seen.digest:
        raise HoldpointError("APPROVALS_EFFECT_ALTERED", "the shown effect does not have the shown digest")
    body = _without_none(decision=decision, digest=seen.digest, comment=comment, response=response)
    return Call("POST", _path("approvals", seen.id, "decisions"), Decision, body=body, key=str(uuid.uuid4()))


def _ordered_uuid() -> str:
    """A UUID of version 7: the task gets an id that begins with its time."""
    at = f"{time_ns() // 1_000_000:012x}"
    return f"{at[:8]}-{at[8:]}-7{str(uuid.uuid4())[15:]}"


def submit_task(body: Mapping[str, Any], key: str | None) -> Call[Task]:
    return Call("POST", "/tasks", Task, body=body, key=key or _ordered_uuid())


def task(id_: str) -> Call[Task]:
    return Call("GET", _path("tasks", id_), Task)


def tasks(filters: Mapping[str, Any], after: str | None) -> Call[dict[str, Any]]:
    return Call("GET", "/tasks", dict, query={**filters, "after": after})


def steer_task(id_: str, verb: str, body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call("POST", _path("tasks", id_, verb), dict, body=_without_none(**body), key=str(uuid.uuid4()))


def answer_task(id_: str, **body: Any) -> Call[Decision]:
    return Call("POST", _path("tasks", id_, "answer"), Decision, body=_without_none(**body), key=str(uuid.uuid4()))


def task_history(id_: str, after: int) -> Call[dict[str, Any]]:
    return Call("GET", _path("tasks", id_, "history"), dict, query={"after": after, "limit": HISTORY_PAGE})


def workflows() -> Call[dict[str, Any]]:
    return Call("GET", "/workflows", dict)


def task_events(id_: str) -> str:
    return _path("tasks", id_, "events")


def artifacts(task_id: str, after: str | None) -> Call[dict[str, Any]]:
    return Call("GET", _path("tasks", task_id, "artifacts"), dict, query={"after": after})


def artifact(sha256: str) -> str:
    return _path("artifacts", sha256)


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
