"""Signed webhooks: callbacks of held effects, and notices about requests."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Mapping
from typing import Any, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, ValidationError

from .canonical import parse_json
from .claiming.grants import Keys, trusted_keys
from .errors import HoldpointError
from .models import HeldEffect, PublishedKeys

#: Difference between the clocks of sender and receiver, in seconds. Older webhooks may be replays.
TOLERANCE_SECONDS = 300

_ID = re.compile(r"[a-z]-[A-Za-z0-9_-]{1,120}")
_SECONDS = re.compile(r"[0-9]{1,12}")
_SIGNATURES_MAX = 10
_SIGNATURE_BYTES = 64

EffectType = Literal["effect.applied", "effect.failed", "effect.rejected", "effect.cancelled", "effect.in_doubt"]
ApprovalType = Literal["approval.requested", "approval.reminded", "approval.escalated", "approval.resolved"]


class WebhookEvent(BaseModel):
    """The event of a webhook. `effect` is that of a callback; `data` is what the sender wrote."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: EffectType | ApprovalType
    version: Literal[1]
    timestamp: str
    data: dict[str, Any]

    @property
    def effect(self) -> HeldEffect | None:
        return HeldEffect.model_validate(self.data) if self.type.startswith("effect.") else None


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    keys: str | PublishedKeys,
    *,
    now: float | None = None,
) -> WebhookEvent:
    """The event of a webhook that approvals signed.

    `keys` are trusted keys in PEM, or the answer of `client.keys()` of a server that you trust. `body` is the
    body as it arrived. Raises `HoldpointError` with the code `WEBHOOK_SIGNATURE_INVALID`, or `CONTRACT_INVALID`
    for an event of a later version. A webhook can arrive twice: compare the header `webhook-id`.
    """
    trusted = trusted_keys(keys)
    raw = body.encode() if isinstance(body, str) else bytes(body)
    _check({name.lower(): value for name, value in headers.items()}, raw, trusted, time.time() if now is None else now)
    try:
        return WebhookEvent.model_validate(parse_json(raw))
    except (ValidationError, ValueError) as error:
        raise HoldpointError("CONTRACT_INVALID", "unknown event or version: update the package") from error


def _check(headers: Mapping[str, str], body: bytes, keys: Keys, now: float) -> None:
    id_, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signatures = _signatures(headers.get("webhook-signature", ""))
    if not _ID.fullmatch(id_) or not _SECONDS.fullmatch(sent) or not signatures:
        raise _refused("no signed webhook: its headers are missing")
    text = f"{id_}.{int(sent)}.".encode() + body
    if not any(_is_signed(key, signature, text) for key in keys.values() for signature in signatures):
        raise _refused("no known key has signed this webhook: pass the body as it arrived")
    if abs(now - int(sent)) > TOLERANCE_SECONDS:
        raise _refused(f"sent at {sent}: too far from the clock of the receiver")


def _signatures(header: str) -> list[bytes]:
    found = []
    for each in header.split(" ")[:_SIGNATURES_MAX]:
        if each.startswith("v1a,"):
            try:
                found.append(base64.b64decode(each[4:], validate=True))
            except (binascii.Error, ValueError):
                continue
    return [signature for signature in found if len(signature) == _SIGNATURE_BYTES]


def _is_signed(key: Ed25519PublicKey, signature: bytes, text: bytes) -> bool:
    try:
        key.verify(signature, text)
    except InvalidSignature:
        return False
    return True


def _refused(why: str) -> HoldpointError:
    return HoldpointError("WEBHOOK_SIGNATURE_INVALID", why)
