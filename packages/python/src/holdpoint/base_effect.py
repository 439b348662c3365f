"""A function with its capability: arguments, key, parts and result of an effect."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec, TypeVar, cast

from pydantic import ValidationError
from typing_extensions import Self, Unpack

from . import defaults
from .errors import (
    EffectCancelled,
    EffectError,
    EffectFailed,
    EffectInDoubt,
    EffectRejected,
    OutputsInvalid,
)
from .models import Capability, HeldEffect
from .requests import HoldOptions, check_numbers
from .schema import Arguments, Outputs

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

log = logging.getLogger("holdpoint")


@dataclass(frozen=True)
class Options:
    """Options of a hold. Times are seconds."""

    reason: str | None = None
    audience: Sequence[str] | None = None
    approval_timeout: float | None = None
    pool: str | None = None
    callback: str | None = None


class BaseEffect(Generic[P, R]):
    """The common part of synchronous and asynchronous effects."""

    def __init__(self, fn: Callable[..., Any], definition: Capability, key: Callable[..., str]) -> None:
        self.fn = fn
        self.definition = definition
        self.arguments = Arguments(fn)
        self.outputs = Outputs(fn)
        self._key = key
        self._key_names = _names_of(key, self.arguments.names)
        self.previewer: Callable[..., Any] | None = None
        self.prober: Callable[..., Any] | None = None
        self.compensator: Callable[..., Any] | None = None
        self._options = Options()
        self._connection: defaults.Connection | None = None
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.__wrapped__ = fn

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def label(self) -> str:
        return f"cap.remote.{self.name}"

    @property
    def connection(self) -> defaults.Connection:
        return self._connection or defaults.connection()

    def with_options(self, *, connection: defaults.Connection | None = None, **options: Unpack[HoldOptions]) -> Self:
        """The same effect, held with these options. Times are seconds."""
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        bound = copy.copy(self)
        bound._options = replace(self._options, **given)
        bound._connection = connection or self._connection
        return bound

    def preview(self, fn: F) -> F:
        """A function of the same arguments: approvers see its result. It must not change anything."""
        self.previewer = fn
        self._define(preview=True)
        return fn

    def probe(self, fn: F) -> F:
        """A function of the same arguments: whether the effect was applied; `None` if it cannot tell."""
        self.prober = fn
        self._define(probe=True)
        return fn

    def compensate(self, fn: F) -> F:
        """A function that undoes the effect. It gets the arguments, and the outputs if it takes `outputs`."""
        self.compensator = fn
        self._define(compensate=True)
        return fn

    def _define(self, **fields: Any) -> None:
        self.definition = self.definition.model_copy(update=fields)

    def key_of(self, args: dict[str, Any]) -> str:
        values = self.arguments.from_json(args)
        return str(self._key(**{name: values[name] for name in self._key_names}))

    def request(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Arguments and key of a call. Raises `TypeError` or `ValueError` for arguments that do not fit."""
        values = self.arguments.to_json(args, kwargs)
        check_numbers(values)
        return values, self.key_of(values)

    def result_of(self, held: HeldEffect) -> R:
        """The result of a final effect, or the error that says why there is none."""
        state, named = held.state, f"{self.name} {held.key}"
        if state == "applied":
            try:
                return cast(R, self.outputs.from_json(held.outputs))
            except ValidationError as error:
                log.debug("outputs of %s: %s", named, error)
                reported = (held.outputs or {}).get("detail")
                why = f" ({reported})" if isinstance(reported, str) else ""
                raise OutputsInvalid(
                    "PROGRAM_OUTPUT_INVALID", f"{named} happened, but its result is unknown{why}", held
                ) from None
        raise _error_of(held, state, named)


def _error_of(held: HeldEffect, state: str, named: str) -> EffectError:
    code = held.error.code if held.error else None
    text = held.error.message if held.error else None
    if state == "rejected":
        by = f" by {held.by}" if held.by else ""
        comment = f": {held.comment or text}" if held.comment or text else ""
        return EffectRejected(code or "ERR_FORBIDDEN", f"{named} was rejected{by}{comment}", held)
    if state == "cancelled":
        return EffectCancelled(code or "NODE_CANCELLED", text or f"{named} was cancelled", held)
    if state == "in_doubt":
        happened = f"whether {named} happened is unknown; a person is asked"
        return EffectInDoubt(code or "EXECUTOR_OUTCOME_UNKNOWN", f"{happened}: {text}" if text else happened, held)
    return EffectFailed(code or "NODE_FAILED", text or f"{named} failed", held)


def _names_of(key: Callable[..., str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that the key takes."""
    parameters = inspect.signature(key).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return known
    strange = [name for name in parameters if name not in known]
    if strange:
        raise TypeError(f"the key takes {', '.join(strange)}, which is no argument of the function")
    return tuple(parameters)
