"""One held effect of the gate in memory, and its signed order."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ..canonical import digest_of, effect_id, held_task_id
from ..claiming.grants import b64url, key_id_of

HOUR = 3_600

#: The effect itself, the preview that approvers see, or the compensation that undoes it.
Part = Literal["run", "preview", "compensate"]


@dataclass
class Entry:
    """One held effect of the gate, or the work that makes its preview."""

    capability: str
    key: str
    effect: dict[str, Any]
    effect_class: str
    state: str = "waiting"
    part: Part = "run"
    #: The arguments as they were requested: a preview joins those of the effect.
    args: dict[str, Any] = field(default_factory=dict)
    #: The effect whose preview this is.
    previews: Entry | None = None
    epoch: int = 0
    #: Ordered but not claimed.
    order: Literal["run", "probe"] | None = None
    holder: str | None = None
    seat: str | None = None
    claim: str | None = None
    kind: str = "run"
    lease_ms: int = 30_000
    is_cancelled: bool = False
    statement: str | None = None
    by: str | None = None
    comment: str | None = None
    outputs: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    exp: int = 0
    #: The result of each start.
    ends: list[dict[str, Any]] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.effect["task"])

    @property
    def effect_id(self) -> str:
        return effect_id(self.id, self.effect["node"], self.effect["idempotencyKey"])

    def view(self) -> dict[str, Any]:
        fields = {
            "id": self.id,
            # The preview is part of the id.
            "effect": None if self.state == "requested" else self.effect_id,
            "capability": self.capability,
            "key": self.key,
            "state": self.state,
            "approval": "a-" + self.id[2:],
            "by": self.by,
            "comment": self.comment,
            "outputs": self.outputs,
            "error": self.error,
        }
        return {name: value for name, value in fields.items() if value is not None}


def held(capability: dict[str, Any], key: str, args: dict[str, Any]) -> Entry:
    """An effect that waits for its approval, or for its preview."""
    name = capability["name"]
    effect = {
        "task": held_task_id(name, key),
        "node": "effect",
        "uses": f"cap.remote.{name}",
        "args": args,
        "kind": capability.get("kind", "write_external"),
        "effectClass": capability.get("effectClass", "opaque"),
        "target": f"remote:{name}",
        "idempotencyKey": key,
    }
    state = "requested" if capability.get("preview") else "waiting"
    return Entry(name, key, effect, effect["effectClass"], state, args=args)


def preview_of(entry: Entry) -> Entry:
    """The work that makes the preview of an effect: it changes nothing, and needs no approval."""
    effect = {
        **entry.effect,
        "uses": f"{entry.effect['uses']}.preview",
        "kind": "work",
        "effectClass": "idempotent",
        "target": f"job:{entry.id}/effect",
        "idempotencyKey": "attempt:1:preview",
    }
    return Entry(entry.capability, entry.key, effect, "idempotent", "approved", "preview", previews=entry, order="run")


def show(entry: Entry, preview: dict[str, Any]) -> None:
    """The preview is approved with the effect: another preview is another effect."""
    key = f"{entry.key}@{digest_of(preview)[:16]}"
    entry.effect = {**entry.effect, "args": {**entry.args, "preview": preview}, "idempotencyKey": key}
    entry.state = "waiting"


def undo_of(entry: Entry) -> Entry:
    """The effect that undoes an applied one: it waits for an approval of its own."""
    key = f"undo:{entry.effect_id}"
    effect = {
        **entry.effect,
        "task": held_task_id("undo", key),
        "node": "undo",
        "uses": f"{entry.effect['uses']}.compensate",
        "args": {"effect": entry.effect_id, "args": entry.effect["args"], "outputs": entry.outputs or {}},
        "kind": "destructive_edit",
        "idempotencyKey": key,
    }
    return Entry(entry.capability, key, effect, entry.effect_class, part="compensate")


class Signer:
    """The key of approvals: it signs grants, answers and statements about keys."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()

    def public_keys(self) -> str:
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def jws(self, claims: dict[str, Any]) -> str:
        header = {"alg": "EdDSA", "kid": key_id_of(self._key.public_key())}
        text = f"{b64url(json.dumps(header).encode())}.{b64url(json.dumps(claims).encode())}"
        return f"{text}.{b64url(self._key.sign(text.encode()))}"

    def grant(self, entry: Entry) -> str:
        return self.jws(
            {
                "jti": "a-" + entry.id[2:],
                "sub": entry.effect_id,
                "digest": digest_of(entry.effect),
                "iat": int(time.time()),
                "exp": entry.exp,
                "by": entry.by,
            }
        )

    def answer(self, entry: Entry) -> str:
        return self.jws(
            {
                "use": "answer",
                "jti": "a-" + entry.id[2:],
                "sub": entry.effect_id,
                "digest": digest_of(entry.effect),
                "epoch": entry.epoch,
                "answer": "retry",
                "iat": int(time.time()),
                "exp": int(time.time()) + HOUR,
                "by": entry.by,
            }
        )

    def order(self, entry: Entry) -> dict[str, Any]:
        order = {"id": entry.effect_id, "attempt": 1, "effect": entry.effect, "digest": digest_of(entry.effect)}
        if entry.part == "preview":
            return order
        return {**order, "grant": self.grant(entry), "approval": "a-" + entry.id[2:]}

    def published(self, nonce: str) -> dict[str, Any]:
        key = {"kid": key_id_of(self._key.public_key()), "publicKey": self.public_keys()}
        statement = self.jws({"use": "keys", "keys": [key], "nonce": nonce, "iat": int(time.time())})
        return {"keys": [key], "statements": [statement]}
