"""The keys of approvals that a claimant trusts."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..context import now
from ..models import ClaimedOrder, PublishedKeys
from .grants import Keys, check_order, key_id_in, keys_in, keys_of, vouched_for

_ASK_AT_MOST_EVERY_SECONDS = 5.0
_ASK_AT_LEAST_EVERY_SECONDS = 300.0


class Trust:
    """Pinned keys, or those that the service published first; then the keys that they vouch for."""

    def __init__(self, ask: Callable[[str], PublishedKeys], pinned: str | os.PathLike[str] | None = None) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        file = pinned or os.environ.get("HOLDPOINT_PUBLIC_KEYS")
        self._root: Keys | None = keys_in(_pem_of(file)) if file else None
        self._keys: Keys = self._root or {}
        self._asked_at: float | None = None

    def check(self, claimed: ClaimedOrder) -> None:
        """Raises `GrantRefused` for an order that approvals did not sign, and `Unreachable` without keys."""
        check_order(claimed, self._keys_for(claimed), time.time())

    def _keys_for(self, claimed: ClaimedOrder) -> Keys:
        tokens = (claimed.order.grant, claimed.statement)
        strange = any(token and key_id_in(token) not in self._keys for token in tokens)
        with self._lock:
            age = None if self._asked_at is None else now() - self._asked_at
            least = _ASK_AT_MOST_EVERY_SECONDS if strange else _ASK_AT_LEAST_EVERY_SECONDS
            if age is None or age > least:
                self._learn()
            return self._keys

    def _learn(self) -> None:
        nonce = secrets.token_urlsafe(16)
        published = self._ask(nonce)
        if self._root is None:
            self._root = keys_of(published)
        reached = {**self._root, **self._keys}
        self._keys = vouched_for(reached, published.statements, nonce)
        self._asked_at = now()


def _pem_of(pinned: str | os.PathLike[str]) -> str:
    text = os.fspath(pinned)
    return text if "BEGIN PUBLIC KEY" in text else Path(text).read_text(encoding="utf-8")
