"""Held effects: wait for their results, look, and cancel."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .async_client import AsyncClient
from .claiming import companion
from .client import Client
from .models import HeldEffect

if TYPE_CHECKING:
    from .base_effect import BaseEffect
    from .effects import AsyncEffect, Effect

R = TypeVar("R")


class Held(Generic[R]):
    """A held effect. It stays held when this process ends: hold the same key again to continue."""

    def __init__(self, effect: Effect[..., R], client: Client, held: HeldEffect) -> None:
        self._effect = effect
        self._client = client
        self._state = held

    @property
    def state(self) -> HeldEffect:
        """The latest known state."""
        return self._state

    @property
    def id(self) -> str:
        return self.state.id

    def wait(self, timeout: float | None = None, *, work: bool = True, return_in_doubt: bool | None = None) -> R:
        """Waits for the result. Raises `EffectRejected`, `EffectFailed`, `EffectCancelled` or `EffectInDoubt`.

        While it waits, this process also claims effects of this function, unless `work` is false or a worker
        runs. `EffectInDoubt` ends the wait at once for opaque effects, because only a person can tell. For the
        other classes the wait continues. `return_in_doubt` changes that. `timeout` is in seconds.
        """
        in_doubt = _stops_in_doubt(self._effect, return_in_doubt)
        with companion.claiming(self._effect, self._client, work=work):
            self._state = self._client.wait_for_effect(self.id, timeout=timeout, return_in_doubt=in_doubt)
        return self._effect.result_of(self.state)

    def refresh(self) -> HeldEffect:
        """The present state."""
        self._state = self._client.get_effect(self.id)
        return self._state

    def cancel(self, reason: str | None = None) -> None:
        self._client.cancel_effect(self.id, reason)


def _stops_in_doubt(effect: BaseEffect[..., Any], asked: bool | None) -> bool:
    return effect.definition.effect_class == "opaque" if asked is None else asked


class AsyncHeld(Generic[R]):
    """A held effect for asyncio. Nothing is requested before the first `await`."""

    def __init__(self, effect: AsyncEffect[..., R], values: dict[str, Any], key: str) -> None:
        self._effect = effect
        self._values = values
        self._key = key
        self._is_awaited = False
        #: The latest known state; `None` before the first `await`.
        self.state: HeldEffect | None = None

    def __await__(self) -> Generator[Any, None, AsyncHeld[R]]:
        self._is_awaited = True
        return self._request().__await__()

    async def _request(self) -> AsyncHeld[R]:
        async with self._effect.connection.async_client() as client:
            await self._known(client)
        return self

    async def _known(self, client: AsyncClient) -> HeldEffect:
        self._is_awaited = True
        if self.state is None:
            self.state = await self._effect.request_once(client, self._values, self._key)
        return self.state

    async def wait(self, timeout: float | None = None, *, work: bool = True, return_in_doubt: bool | None = None) -> R:
        """Waits for the result, as `Held.wait` does. Functions run in this event loop."""
        self._is_awaited = True
        in_doubt = _stops_in_doubt(self._effect, return_in_doubt)
        connection = self._effect.connection
        async with connection.async_client() as client:
            held = await self._known(client)
            claims = companion.claiming(self._effect, connection.client, work=work, loop=asyncio.get_running_loop())
            async with claims:
                self.state = await client.wait_for_effect(held.id, timeout=timeout, return_in_doubt=in_doubt)
        return self._effect.result_of(self.state)

    async def refresh(self) -> HeldEffect:
        async with self._effect.connection.async_client() as client:
            held = await self._known(client)
            self.state = await client.get_effect(held.id)
        return self.state

    async def cancel(self, reason: str | None = None) -> None:
        async with self._effect.connection.async_client() as client:
            held = await self._known(client)
            await client.cancel_effect(held.id, reason)

    def __del__(self) -> None:
        if not getattr(self, "_is_awaited", True):
            warnings.warn(
                f"hold of {self._effect.name} was never awaited: nothing was requested",
                RuntimeWarning,
                stacklevel=2,
            )
