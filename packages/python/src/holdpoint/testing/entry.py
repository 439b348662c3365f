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


@dataclass
class Entry:
    """One held effect of the gate."""

    capability: str
    key: str
    effect: dict[str, Any]
    effect_class: str
    state: str = "waiting"
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
        return held_task_id(self.capability, self.key)

    @property
    def effect_id(self) -> str:
        return effect_id(self.id, "effect", self.key)

    def view(self) -> dict[str, Any]:
        fields = {
            "id": self.id,
            "effect": self.effect_id,
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
        return {
            "id": entry.effect_id,
            "attempt": 1,
            "effect": entry.effect,
            "digest": digest_of(entry.effect),
            "grant": self.grant(entry),
            "approval": "a-" + entry.id[2:],
        }

    def published(self, nonce: str) -> dict[str, Any]:
        key = {"kid": key_id_of(self._key.public_key()), "publicKey": self.public_keys()}
        statement = self.jws({"use": "keys", "keys": [key], "nonce": nonce, "iat": int(time.time())})
        return {"keys": [key], "statements": [statement]}
