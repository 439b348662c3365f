"""The context of a run, for the function that carries it out."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Literal

from .errors import LeaseLost

Why = Literal["cancelled", "lost", "timeout", "stopping"]

#: The time of a sleeping machine counts: its leases ended meanwhile.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def now() -> float:
    """Seconds that only rise."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class Lease:
    """The time in which no other program may carry out the effect. Safe to share between threads."""

    def __init__(self, asked_at: float, lease_ms: int) -> None:
        # The service answered after it was asked, so that the true end is never earlier.
        self._until = asked_at + lease_ms / 1_000
        self.seconds = lease_ms / 1_000
        self.is_lost = False

    def extend(self, asked_at: float, lease_ms: int) -> None:
        self._until = max(self._until, asked_at + lease_ms / 1_000)
        self.seconds = lease_ms / 1_000

    @property
    def left(self) -> float:
        return 0.0 if self.is_lost else max(0.0, self._until - now())


class Context:
    """One run of an effect. `holdpoint.context()` returns it inside the function."""

    def __init__(self, *, effect_id: str, task: str, key: str, epoch: int, attempt: int, lease: Lease) -> None:
        self.effect_id = effect_id
        self.task = task
        #: The idempotency key of the effect: the same over all attempts.
        self.key = key
        #: Rises with every start. A target that remembers the highest one refuses late changes.
        self.epoch = epoch
        self.attempt = attempt
        #: The preview that people approved, for an effect with one.
        self.preview: dict[str, Any] | None = None
        #: Set when the function should stop, if that is possible.
        self.cancelled = threading.Event()
        self.why: Why | None = None
        self._lease = lease
        #: Whether the ledger answered that this run holds the effect, or that it lost it.
        self.ask: Callable[[], bool] = lambda: True

    @property
    def lease_left(self) -> float:
        """Seconds for which no other program may carry out the effect."""
        return self._lease.left

    def assert_in_force(self) -> None:
        """Asks the ledger, and raises `LeaseLost` unless this run may go on. Call it right before the change.

        The code is `EXECUTOR_CANCELLED` after a cancellation, and `EXECUTOR_CLAIM_LOST` if another program may have
        the effect, if its time has passed, or if no answer came before the end of the lease. It blocks until the
        answer: inside of an `async def` function use `await context().assert_in_force_async()`.
        """
        is_answered = self.ask()
        if self.why == "cancelled":
            raise LeaseLost("EXECUTOR_CANCELLED", "the effect was cancelled; do not change anything")
        if self.why == "timeout":
            raise LeaseLost("EXECUTOR_CLAIM_LOST", "the time of the run has passed; do not change anything")
        # The process may have been frozen before it heard the answer.
        if not is_answered or self._lease.left <= 0:
            raise LeaseLost("EXECUTOR_CLAIM_LOST", "the lease has ended; do not change anything")

    async def assert_in_force_async(self) -> None:
        """`assert_in_force` without blocking the event loop."""
        await asyncio.to_thread(self.assert_in_force)

    def stop(self, why: Why) -> None:
        # A worker that stops lets its runs finish: each other reason weighs more.
        if self.why in (None, "stopping"):
            self.why = why
        self.cancelled.set()


current: ContextVar[Context] = ContextVar("holdpoint_context")


def context() -> Context:
    """The context of the run. Raises `LookupError` outside of an effect function that a worker runs."""
    try:
        return current.get()
    except LookupError as error:
        raise LookupError("holdpoint.context() works only inside of an effect that a worker runs") from error
