"""How a worker speaks with Holdpoint: by long polls over HTTP, or over NATS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .. import requests as api
from ..client import Client
from ..models import BeatAnswer, ClaimAnswer, EndAnswer, PublishedKeys


class Claims(Protocol):
    """The requests of a claimant. Each may be repeated. They raise `Unreachable` when no answer came."""

    def claim(self, body: Mapping[str, Any]) -> ClaimAnswer: ...

    def beat(self, body: Mapping[str, Any]) -> BeatAnswer: ...

    def end(self, body: Mapping[str, Any]) -> EndAnswer: ...

    def keys(self, nonce: str) -> PublishedKeys: ...


class HttpClaims:
    """Claims over HTTP. It works behind NAT, because the worker opens every connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def claim(self, body: Mapping[str, Any]) -> ClaimAnswer:
        return self._client.send(api.claim(body))

    def beat(self, body: Mapping[str, Any]) -> BeatAnswer:
        return self._client.send(api.beat(body))

    def end(self, body: Mapping[str, Any]) -> EndAnswer:
        return self._client.send(api.end(body))

    def keys(self, nonce: str) -> PublishedKeys:
        return self._client.send(api.keys(nonce))
