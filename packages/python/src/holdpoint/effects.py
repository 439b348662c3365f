"""`@effect` makes a function a held effect: it runs once, after an approver has approved exactly this call."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from .async_client import AsyncClient
from .base_effect import BaseEffect
from .client import Client
from .errors import HoldpointError
from .held import AsyncHeld, Held
from .models import Capability, EffectClass, HeldEffect, Kind, Risk
from .schema import Arguments, Outputs

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("holdpoint")

_TITLE_MAX = 200
_DESCRIPTION_MAX = 2_000

_UNKNOWN = "APPROVALS_UNKNOWN_CAPABILITY"


class Effect(BaseEffect[P, R]):
    """A held effect with a synchronous function."""

    def hold(self, *args: P.args, **kwargs: P.kwargs) -> Held[R]:
        """Requests the effect, and returns at once. The same key is the same effect."""
        values, key = self.request(args, kwargs)
        client = self.connection.client
        ask = self._asking(client, values, key)
        try:
            held = ask()
        except HoldpointError as error:
            if error.code != _UNKNOWN:
                raise
            client.register(self.definition)
            log.info("registered the capability %s", self.name)
            held = ask()
        return Held(self, client, held)

    def _asking(self, client: Client, values: dict[str, Any], key: str) -> Callable[[], HeldEffect]:
        return lambda: client.hold(self.name, values, key, **vars(self._options))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Holds the effect, and waits for its result. The function itself never runs without an approval."""
        return self.hold(*args, **kwargs).wait()

    def register(self) -> Capability:
        """Registers the present definition, and replaces an earlier one."""
        return self.connection.client.register(self.definition)


class AsyncEffect(BaseEffect[P, R]):
    """A held effect with an asynchronous function."""

    def hold(self, *args: P.args, **kwargs: P.kwargs) -> AsyncHeld[R]:
        """The effect of this call. `await` requests it; `await ….wait()` also waits for the result."""
        values, key = self.request(args, kwargs)
        return AsyncHeld(self, values, key)

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Holds the effect, and waits for its result. The function itself never runs without an approval."""
        return await self.hold(*args, **kwargs).wait()

    async def register(self) -> Capability:
        """Registers the present definition, and replaces an earlier one."""
        async with self.connection.async_client() as client:
            return await client.register(self.definition)

    async def request_once(self, client: AsyncClient, values: dict[str, Any], key: str) -> HeldEffect:
        try:
            return await client.hold(self.name, values, key, **vars(self._options))
        except HoldpointError as error:
            if error.code != _UNKNOWN:
                raise
        await client.register(self.definition)
        log.info("registered the capability %s", self.name)
        return await client.hold(self.name, values, key, **vars(self._options))


class Decorator(Protocol):
    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]]) -> AsyncEffect[P, R]: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, fn: Callable[P, R]) -> Effect[P, R]: ...


def effect(
    name: str,
    *,
    key: Callable[..., str],
    kind: Kind = "write_external",
    effect_class: EffectClass = "opaque",
    title: str | None = None,
    risk: Risk | None = None,
    target: str | None = None,
    timeout: float | None = None,
) -> Decorator:
    """Makes a function a held effect.

    `key` names the effect: the same key is the same effect, and it happens at most once. It takes the arguments
    that it needs, by name. `title` and `target` are texts with places such as `${charge}`. `effect_class` says how the
    target behaves on repetition; an `opaque` one is never repeated without a person. `timeout` is the time of
    a run in seconds.
    """

    def decorate(fn: Callable[..., Any]) -> Any:
        shown = ", ".join(f"{each}=${{{each}}}" for each in Arguments(fn).names)
        definition = Capability(
            name=name,
            title=(title or f"{name}({shown})")[:_TITLE_MAX],
            description=(inspect.getdoc(fn) or "")[:_DESCRIPTION_MAX] or None,
            kind=kind,
            effect_class=effect_class,
            risk=risk,
            target=target,
            input=Arguments(fn).schema,
            output=Outputs(fn).schema,
            timeout_ms=None if timeout is None else round(timeout * 1_000),
        )
        made = AsyncEffect if inspect.iscoroutinefunction(fn) else Effect
        return made(fn, definition, key)

    return cast(Decorator, decorate)
