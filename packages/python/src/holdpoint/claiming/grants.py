"""The offline check of grants: only an effect that approvals signed may run."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)
from pydantic import ValidationError

from ..canonical import digest_of, effect_id, parse_json
from ..errors import GrantRefused
from ..models import ClaimedOrder, Order, PublishedKeys

_PEM = re.compile(r"-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----")
_JWS_PARTS = 3
_GRANT_MAX = 4_096
_STATEMENT_MAX = 200_000

#: Clocks of machines may differ by this much.
TOLERANCE_SECONDS = 60

Keys = Mapping[str, Ed25519PublicKey]


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(part: str) -> bytes | None:
    """The bytes of a part, if it is their one encoding."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if b64url(data) == part else None


def key_id_of(key: Ed25519PublicKey) -> str:
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64url(hashlib.sha256(der).digest())[:16]


def keys_in(pem: str) -> dict[str, Ed25519PublicKey]:
    """The Ed25519 keys in a PEM text, by key id. Raises `ValueError` for other keys, and if there is none."""
    keys: dict[str, Ed25519PublicKey] = {}
    for block in _PEM.findall(pem):
        key = load_pem_public_key(block.encode())
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("not an Ed25519 key")
        keys[key_id_of(key)] = key
    if not keys:
        raise ValueError("no public key in PEM")
    return keys


def _object_in(part: str) -> dict[str, Any] | None:
    data = _decoded(part)
    if data is None:
        return None
    try:
        value = parse_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def key_id_in(token: str) -> str | None:
    """The key id that a token names, before verification."""
    header = _object_in(token.split(".", 1)[0])
    if header is None or header.get("alg") != "EdDSA":
        return None
    kid = header.get("kid")
    return kid if isinstance(kid, str) else None


def verified(token: str, keys: Keys) -> dict[str, Any] | None:
    """Claims of a token that one of the keys signed. Its expiry is not checked."""
    parts = token.split(".")
    if len(parts) != _JWS_PARTS or not token.isascii():
        return None
    key = keys.get(key_id_in(token) or "")
    signature = _decoded(parts[2])
    if key is None or signature is None:
        return None
    try:
        key.verify(signature, f"{parts[0]}.{parts[1]}".encode())
    except InvalidSignature:
        return None
    return _object_in(parts[1])


def _published(items: object) -> dict[str, Ed25519PublicKey]:
    """Keys of a statement whose id is that of the key."""
    found: dict[str, Ed25519PublicKey] = {}
    for item in items if isinstance(items, list) else []:
        if not (isinstance(item, dict) and isinstance(item.get("publicKey"), str)):
            continue
        try:
            keys = keys_in(item["publicKey"])
        except ValueError:
            # A trusted signer vouches for an invalid key: ignore it.
            continue
        found.update({kid: key for kid, key in keys.items() if kid == item.get("kid")})
    return found


def vouched_for(trusted: Keys, statements: Iterable[str], nonce: str | None = None) -> Keys:
    """The trusted keys, and those that follow from them by statements, without retired ones."""
    texts = [text for text in statements if len(text) <= _STATEMENT_MAX]
    reached = dict(trusted)
    named: dict[str, Ed25519PublicKey] = {}
    retired: set[str] = set()
    before = -1
    while before < len(reached):
        before = len(reached)
        for text in texts:
            claims = verified(text, reached)
            if claims is None or claims.get("use") != "keys" or (nonce and claims.get("nonce") != nonce):
                continue
            named.update(_published(claims.get("keys")))
            retired.update(_published(claims.get("retired")))
        reached.update(named)
    return {kid: key for kid, key in reached.items() if kid not in retired}


def keys_of(published: PublishedKeys) -> Keys:
    """The keys as the service publishes them: trusted because of the connection that they came over."""
    return _published([key.body() for key in published.keys])


def trusted_keys(keys: str | PublishedKeys) -> Keys:
    """Keys in PEM, or those that the service published and the keys that they vouch for."""
    if isinstance(keys, str):
        return keys_in(keys)
    root = keys_of(keys)
    return {**root, **vouched_for(root, keys.statements)}


def check_grant(
    order: ClaimedOrder | Mapping[str, Any], keys: str | PublishedKeys, *, now: float | None = None
) -> None:
    """Raises `GrantRefused` unless approvals signed exactly this effect. It works offline.

    The workers of this package check every order. A claimant of your own calls this before it acts. `order` is one
    item of the answer to `POST /claims`. `keys` are trusted keys in PEM, or the answer of `client.keys()` of a
    server that you trust. `now` is in seconds since 1970; default: the clock of this machine. The code of the error
    says which part does not fit: `EXECUTOR_GRANT_INVALID`, `EXECUTOR_GRANT_MISMATCH`, `EXECUTOR_DIGEST_MISMATCH`,
    `EXECUTOR_GRANT_EXPIRED`, or `CONTRACT_INVALID` for a text that is no order.
    """
    try:
        claimed = order if isinstance(order, ClaimedOrder) else ClaimedOrder.model_validate(order)
    except ValidationError as error:
        raise GrantRefused("CONTRACT_INVALID", "no item of an answer to POST /claims") from error
    check_order(claimed, trusted_keys(keys), time.time() if now is None else now)


_LABEL = re.compile(r"cap\.remote\.[a-z0-9_]{1,64}(\.preview|\.compensate)?")


def check_order(claimed: ClaimedOrder, keys: Keys, now: float) -> None:
    """Raises `GrantRefused` unless approvals signed exactly this effect. `now` is in epoch seconds.

    Id and digest are computed again: the statements of an order about itself prove nothing. A preview is work and
    needs no grant. A probe changes nothing, so that its grant may have expired. A person's answer `retry` also
    permits a start after the expiry.
    """
    order = claimed.order
    label, is_work = str(order.effect.get("uses")), order.effect.get("kind") == "work"
    is_remote = _LABEL.fullmatch(label) is not None
    if order.grant is None:
        if not (is_work and is_remote and label.endswith(".preview")):
            raise GrantRefused("EXECUTOR_GRANT_INVALID", "only a preview needs no grant")
        _check_identity(order)
        return
    if is_work or not is_remote:
        raise GrantRefused("EXECUTOR_GRANT_INVALID", "a grant is for a remote effect, and this is none")
    claims = verified(order.grant, keys) if len(order.grant) <= _GRANT_MAX else None
    if claims is None or claims.get("use", "grant") != "grant":
        raise GrantRefused("EXECUTOR_GRANT_INVALID", "the grant is not signed by the approvals service")
    _check_identity(order)
    if claims.get("digest") != order.digest:
        raise GrantRefused("EXECUTOR_DIGEST_MISMATCH", "the order differs from the approved effect")
    if claims.get("sub") != order.id:
        raise GrantRefused("EXECUTOR_GRANT_MISMATCH", "the grant is for another effect")
    if order.approval is not None and claims.get("jti") != order.approval:
        raise GrantRefused("EXECUTOR_GRANT_MISMATCH", "the grant belongs to another approval")
    if claimed.kind != "probe" and not _in_time(claims, now) and not _permits_retry(claimed, keys, now):
        raise GrantRefused("EXECUTOR_GRANT_EXPIRED", "the grant has expired; compare the clocks of the machines")


def _in_time(claims: Mapping[str, Any], now: float) -> bool:
    expiry = claims.get("exp")
    return isinstance(expiry, (int, float)) and now < expiry + TOLERANCE_SECONDS


def _permits_retry(claimed: ClaimedOrder, keys: Keys, now: float) -> bool:
    """A person has answered that the effect of the previous epoch is repeated."""
    statement = claimed.statement
    claims = verified(statement, keys) if statement and len(statement) <= _GRANT_MAX else None
    return (
        claims is not None
        and claims.get("use") == "answer"
        and claims.get("answer") == "retry"
        and claims.get("sub") == claimed.order.id
        and claims.get("digest") == claimed.order.digest
        and claims.get("epoch") == claimed.epoch - 1
        and _in_time(claims, now)
    )


def _check_identity(order: Order) -> None:
    """Raises `GrantRefused` unless digest and id are those of the effect."""
    effect = order.effect
    try:
        digest = digest_of(effect)
        own_id = effect_id(effect["task"], effect["node"], effect["idempotencyKey"])
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise GrantRefused("EXECUTOR_DIGEST_MISMATCH", "the order contains no valid effect") from error
    if digest != order.digest:
        raise GrantRefused("EXECUTOR_DIGEST_MISMATCH", "the digest of the order is not that of its effect")
    if own_id != order.id:
        raise GrantRefused("EXECUTOR_GRANT_MISMATCH", "the id of the order is not that of its effect")
