"""Errors with stable codes. Texts may change, codes do not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models import HeldEffect


class HoldpointError(Exception):
    """An error with a stable code, as the HTTP API reports it."""

    def __init__(
        self, code: str, message: str, *, status: int | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details = details


class Unreachable(HoldpointError):
    """Holdpoint gave no answer. Whether it received the request is unknown; every request may be repeated."""


class GrantRefused(HoldpointError):
    """The order is not the effect that approvals signed. The function does not start."""


class LeaseLost(HoldpointError):
    """The claim no longer holds the effect: its lease ended, or another start replaced it."""


class WaitTimeout(HoldpointError, TimeoutError):
    """The effect is not final yet. It stays held, and a further `wait` continues."""


class EffectError(HoldpointError):
    """An effect without a result. `effect` is its state when the wait ended."""

    def __init__(self, code: str, message: str, effect: HeldEffect) -> None:
        super().__init__(code, message)
        self.effect = effect


class EffectRejected(EffectError):
    """An approver rejected the effect, or the time for the decision has passed. It did not happen."""


class EffectFailed(EffectError):
    """The effect failed, and nothing happened."""


class EffectCancelled(EffectError):
    """The effect was cancelled before it started."""


class EffectInDoubt(EffectError):
    """Whether the effect happened is unknown. A person answers on any surface."""


class OutputsInvalid(EffectError):
    """The effect happened, but its outputs do not fit the return type."""


_NO_CODE = re.compile(r"[^A-Z0-9_]+")
_CODE_MAX = 64


class NothingHappened(Exception):
    """Raised by an effect function that states: nothing happened.

    Every other exception leaves the effect in doubt. The code gets the prefix `REMOTE_`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        word = _NO_CODE.sub("_", code.upper().removeprefix("REMOTE_"))[:_CODE_MAX] or "FAILED"
        self.code = f"REMOTE_{word}"
        self.message = message or self.code
