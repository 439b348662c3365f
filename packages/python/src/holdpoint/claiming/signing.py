"""The key of a claimant: it signs beats and ends, so that no other program can end an effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ..canonical import canonical_json
from .grants import b64url

#: Its first word keeps it apart from every other text that a key signs.
_PREFIX = b"holdpoint-claim/1\n"


class ClaimKey:
    """An Ed25519 key of one process. `x` is its public half in base64url."""

    def __init__(self, private: Ed25519PrivateKey | None = None) -> None:
        self._private = private or Ed25519PrivateKey.generate()
        self.x = b64url(self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def signed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        named = {"x": self.x, **body}
        return {**named, "signature": b64url(self._private.sign(_PREFIX + canonical_json(named)))}

    def beat(self, held: Sequence[tuple[str, int]]) -> dict[str, Any]:
        return self.signed({"items": [{"id": id_, "epoch": epoch} for id_, epoch in held]})

    def end(self, id_: str, epoch: int, result: Mapping[str, Any]) -> dict[str, Any]:
        return self.signed({"id": id_, "epoch": epoch, "result": dict(result)})
