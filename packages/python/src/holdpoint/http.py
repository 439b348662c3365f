"""Requests over HTTP: settings, errors, and repeats of requests whose answer was lost."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx
from pydantic import TypeAdapter

from .canonical import parse_json
from .errors import HoldpointError, Unreachable

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8702"
_TIMEOUT_SECONDS = 20.0
_BAD = 400
#: Requests with these answers were not carried out, and may be repeated.
_BUSY = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Settings:
    """Where Holdpoint is, and the token. Default: `HOLDPOINT_URL`, `HOLDPOINT_TOKEN` or `HOLDPOINT_TOKEN_FILE`."""

    url: str
    token: str | None

    @staticmethod
    def of(url: str | None, token: str | None) -> Settings:
        file = os.environ.get("HOLDPOINT_TOKEN_FILE")
        if token is None:
            token = os.environ.get("HOLDPOINT_TOKEN")
        if token is None and file:
            with open(file, encoding="utf-8") as opened:
                token = opened.read()
        address = (url or os.environ.get("HOLDPOINT_URL") or DEFAULT_URL).rstrip("/")
        return Settings(address.removesuffix("/api/v1"), token.strip() if token else None)

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def base(self) -> str:
        return f"{self.url}/api/v1"


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    #: The service waits this long before it answers, in seconds.
    waits: float = 0
    #: Repeats of a request with the same key are one request.
    key: str | None = None

    def sent(self) -> dict[str, Any]:
        """Arguments of `httpx.Client.request`."""
        headers = {"idempotency-key": self.key} if self.key else {}
        content = None
        if self.body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(self.body, allow_nan=False, separators=(",", ":")).encode()
        return {
            "method": self.method,
            "url": self.path,
            "params": {name: _text(value) for name, value in self.query.items() if value is not None},
            "content": content,
            "headers": headers,
            "timeout": httpx.Timeout(_TIMEOUT_SECONDS, read=_TIMEOUT_SECONDS + self.waits),
        }

    def read(self, response: httpx.Response) -> T:
        if response.status_code >= _BAD:
            raise problem_in(response)
        value = _json_of(response)
        return TypeAdapter(self.answer).validate_python(value)


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return list(value) if isinstance(value, (list, tuple)) else str(value)


def _json_of(response: httpx.Response) -> Any:
    try:
        return parse_json(response.content)
    except ValueError as error:
        raise HoldpointError(
            "CONTRACT_NOT_JSON", "the answer is not JSON; check HOLDPOINT_URL", status=response.status_code
        ) from error


def problem_in(response: httpx.Response) -> HoldpointError:
    """The error in an answer of kind `application/problem+json`."""
    try:
        body = parse_json(response.content)
    except ValueError:
        body = {}
    fields: dict[str, Any] = body if isinstance(body, dict) else {}
    code = fields.get("code")
    text = fields.get("detail") or fields.get("message") or fields.get("title")
    details = fields.get("details")
    status = response.status_code
    if not isinstance(code, str):
        code = "RUNTIME_UNAVAILABLE" if status in _BUSY else "RUNTIME_POISON"
    kind = Unreachable if status in _BUSY else HoldpointError
    return kind(
        code,
        str(text or f"HTTP status {status} from {response.request.url.path}"),
        status=status,
        details=details if isinstance(details, dict) else None,
    )


def unreachable(error: httpx.HTTPError | httpx.InvalidURL, settings: Settings) -> HoldpointError:
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return HoldpointError("CONTRACT_INVALID", f"{settings.url} is no address; set HOLDPOINT_URL")
    reason = str(error) or type(error).__name__
    return Unreachable("RUNTIME_UNAVAILABLE", f"no answer from {settings.url}: {reason}")


def pauses(first: float = 0.1, most: float = 5.0) -> Iterator[float]:
    """Seconds between attempts: longer each time, and different in each process."""
    pause = first
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, most)
