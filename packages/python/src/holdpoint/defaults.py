"""The connection of effects that name none."""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx

from .async_client import AsyncClient
from .client import Client
from .models import ClaimedOrder

#: Called with the name of a point that a run reaches.
OnPoint = Callable[[str, ClaimedOrder], None]


class Connection:
    """How clients are made. The synchronous client is shared, because it is safe between threads."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        async_transport: httpx.AsyncBaseTransport | None = None,
        on_point: OnPoint | None = None,
    ) -> None:
        self._address = (url, token)
        self._transport = transport
        self._async_transport = async_transport
        self.on_point = on_point
        self._lock = threading.Lock()
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = Client(*self._address, transport=self._transport)
            return self._client

    def async_client(self) -> AsyncClient:
        """A new client: its connections belong to the running event loop."""
        return AsyncClient(*self._address, transport=self._async_transport)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None


_state: dict[str, Connection] = {}
_lock = threading.Lock()


def connection() -> Connection:
    with _lock:
        return _state.setdefault("default", Connection())


def connect(url: str | None = None, token: str | None = None) -> Connection:
    """Sets the connection of all effects. Default: `HOLDPOINT_URL` and `HOLDPOINT_TOKEN`."""
    made = Connection(url, token)
    use(made)
    return made


def use(made: Connection | None) -> Connection | None:
    """Replaces the default connection, and returns the former one."""
    with _lock:
        former = _state.pop("default", None)
        if made is not None:
            _state["default"] = made
        return former
