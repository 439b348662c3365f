"""Claims over NATS, with the extra `holdpoint[nats]`."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from .canonical import parse_json
from .context import now
from .errors import HoldpointError, Unreachable
from .http import Settings
from .models import BeatAnswer, ClaimAnswer, EndAnswer, PublishedKeys

try:
    import nats
    from nats.aio.client import Client as NatsClient
    from nats.aio.msg import Msg
except ModuleNotFoundError:
    raise ModuleNotFoundError('claims over NATS need an extra: pip install "holdpoint[nats]"') from None

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_ANSWER_SECONDS = 5.0
#: An identity assertion is valid for five minutes.
_IDENTITY_SECONDS = 240.0
_REPLACED = frozenset({"IDENTITY_INVALID", "IDENTITY_EXPIRED"})


class NatsClaims:
    """Requests of a worker over NATS: `worker(refund, claims=NatsClaims(url, seed_file))`.

    `url` separates several servers with commas. `seed_file` is the login of the bus user `user`. The token
    proves the right to claim; default: `HOLDPOINT_TOKEN` or `HOLDPOINT_TOKEN_FILE`.
    """

    def __init__(
        self, url: str, seed_file: str | os.PathLike[str], *, user: str = "worker", token: str | None = None
    ) -> None:
        self._url = url
        self._seed_file = os.fspath(seed_file)
        self._user = user
        self._token = Settings.of(None, token).token
        self._identity: tuple[str, float] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="holdpoint nats", daemon=True)
        self._thread.start()
        self._connection: NatsClient = self._wait(self._connect())

    def close(self) -> None:
        self._wait(self._connection.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def claim(self, body: Mapping[str, Any]) -> ClaimAnswer:
        within = _ANSWER_SECONDS + body.get("waitMs", 0) / 1_000
        try:
            return self._claim_once(body, within)
        except HoldpointError as error:
            if error.code not in _REPLACED:
                raise
            self._identity = None
        return self._claim_once(body, within)

    def _claim_once(self, body: Mapping[str, Any], within: float) -> ClaimAnswer:
        headers = {"holdpoint-identity": self._assertion()}
        return self._ask("executor", "claim", body, ClaimAnswer, within=within, headers=headers)

    def beat(self, body: Mapping[str, Any]) -> BeatAnswer:
        return self._ask("executor", "beat", body, BeatAnswer)

    def end(self, body: Mapping[str, Any]) -> EndAnswer:
        return self._ask("executor", "end", body, EndAnswer)

    def keys(self, nonce: str) -> PublishedKeys:
        return self._ask("approvals", "keys", {"nonce": nonce}, PublishedKeys)

    def _assertion(self) -> str:
        """The signed statement of approvals that names the owner of the token."""
        if self._identity is None or now() >= self._identity[1]:
            if self._token is None:
                raise HoldpointError("APPROVALS_UNAUTHENTICATED", "claims need a token: set HOLDPOINT_TOKEN")
            headers = {"authorization": f"Bearer {self._token}"}
            issued = self._request("approvals", "identify", {}, _ANSWER_SECONDS, headers)
            self._identity = (str(issued["assertion"]), now() + _IDENTITY_SECONDS)
        return self._identity[0]

    def _ask(
        self,
        service: str,
        endpoint: str,
        body: Mapping[str, Any],
        answer: type[M],
        *,
        within: float = _ANSWER_SECONDS,
        headers: dict[str, str] | None = None,
    ) -> M:
        return answer.model_validate(self._request(service, endpoint, body, within, headers or {}))

    def _request(
        self, service: str, endpoint: str, body: Mapping[str, Any], within: float, headers: dict[str, str]
    ) -> Any:
        data = json.dumps(body, allow_nan=False).encode()
        subject = f"hp.api.{service}.{endpoint}"
        try:
            reply = self._wait(self._connection.request(subject, data, timeout=within, headers=headers))
        except (nats.errors.Error, TimeoutError, asyncio.TimeoutError, OSError) as error:
            raise Unreachable("RUNTIME_UNAVAILABLE", f"no answer on {subject}: {error}") from error
        return _answer_in(reply)

    async def _connect(self) -> NatsClient:
        return await nats.connect(
            servers=[each.strip() for each in self._url.split(",")],
            nkeys_seed=self._seed_file,
            # The user may receive answers below this prefix only.
            inbox_prefix=f"_INBOX_{self._user}".encode(),
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.25,
            ping_interval=5,
        )

    def _wait(self, task: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(task, self._loop).result()


def _answer_in(reply: Msg) -> Any:
    try:
        body = parse_json(reply.data)
    except ValueError as error:
        raise HoldpointError("CONTRACT_NOT_JSON", "the answer is not JSON") from error
    status = (reply.headers or {}).get("Nats-Service-Error-Code")
    if status is None:
        return body
    fields: dict[str, Any] = body if isinstance(body, dict) else {}
    code = str(fields.get("code", "RUNTIME_POISON"))
    busy = code == "RUNTIME_UNAVAILABLE" or code.endswith("TOO_MANY_CLAIMS")
    kind = Unreachable if busy else HoldpointError
    return _raise(kind(code, str(fields.get("message", "no text")), status=_number(status)))


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _raise(error: HoldpointError) -> Any:
    raise error
