"""The orders in the hands of a worker."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..context import Context, Lease
from ..errors import HoldpointError
from ..models import ClaimedOrder

_SEEN_MAX = 100_000


class Killed(BaseException):
    """A test ends the process here: nothing further is reported."""


class Run:
    """One order in the hands of this process."""

    def __init__(self, claimed: ClaimedOrder, asked_at: float) -> None:
        self.claimed = claimed
        self.id = claimed.order.id
        self.epoch = claimed.epoch
        self.lease = Lease(asked_at, claimed.lease_ms)
        effect = claimed.order.effect
        self.context = Context(
            effect_id=self.id,
            task=str(effect.get("task")),
            key=str(effect.get("idempotencyKey")),
            epoch=claimed.epoch,
            attempt=claimed.order.attempt,
            lease=self.lease,
        )
        #: A function that outlives its time no longer beats: its effect becomes in doubt.
        self.beats = True

    @property
    def named(self) -> str:
        return f"{self.claimed.order.effect.get('uses')} {self.context.key} ({self.id}, epoch {self.epoch})"


class Runs:
    """The runs of a worker, and the state that its threads share under one lock."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._by_key: dict[tuple[str, int, str], Run] = {}
        self._seen: OrderedDict[tuple[str, int], None] = OrderedDict()
        #: It claims nothing new.
        self.is_leaving = False
        #: It reports nothing further.
        self.is_abandoned = False
        self.is_polling = False
        #: Why the worker has stopped claiming by itself.
        self.error: HoldpointError | None = None

    def __len__(self) -> int:
        return len(self._by_key)

    def present(self) -> list[Run]:
        with self.changed:
            return list(self._by_key.values())

    def add(self, run: Run) -> bool:
        """False for a start that was here before: each runs at most once. Probes may be repeated."""
        key = (run.id, run.epoch, run.claimed.kind)
        with self.changed:
            if self.is_abandoned or key in self._by_key:
                return False
            if run.claimed.kind == "run":
                if (run.id, run.epoch) in self._seen:
                    return False
                self._seen[(run.id, run.epoch)] = None
                while len(self._seen) > _SEEN_MAX:
                    self._seen.popitem(last=False)
            self._by_key[key] = run
            self.changed.notify_all()
        return True

    def remove(self, run: Run) -> None:
        with self.changed:
            self._by_key.pop((run.id, run.epoch, run.claimed.kind), None)
            self.changed.notify_all()

    def fail(self, error: HoldpointError) -> None:
        """Claims and beats belong together: without one of them the worker claims nothing new."""
        with self.changed:
            self.error = error
            self.is_leaving = True
            self.changed.notify_all()

    def abandon(self) -> list[Run]:
        """Reports nothing further, and returns the runs that are left."""
        with self.changed:
            self.is_leaving = self.is_abandoned = True
            self.changed.notify_all()
            return list(self._by_key.values())

    def die(self) -> None:
        """As if the process had ended here."""
        with self.changed:
            self.is_leaving = self.is_abandoned = True
            self.is_polling = False
            self._by_key.clear()
            self.changed.notify_all()
