"""The gate in memory as a test uses it: people, faults, and what happened."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Protocol

from typing_extensions import Self

from .. import defaults
from ..claiming import companion
from ..models import HeldEffect
from .entry import Entry, undo_of
from .service import Service
from .transport import AsyncTransport, Transport

#: `before` and `after` the function, and `ended`: the end is recorded.
Point = Literal["before", "after", "ended"]
Answer = Literal["applied", "not_applied", "retry"]


class _HasState(Protocol):
    @property
    def state(self) -> HeldEffect | None: ...


class Gate(Service):
    """Requests, approvers and ledger in memory. A `with` block makes it the connection of all effects."""

    def __init__(self) -> None:
        super().__init__()
        self._former: defaults.Connection | None = None
        self.connection = defaults.Connection(
            "http://gate.test",
            "test",
            transport=Transport(self.handle),
            async_transport=AsyncTransport(self.handle),
            on_point=self._reach,
        )

    def __enter__(self) -> Self:
        self._former = defaults.use(self.connection)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        defaults.use(self._former)
        self.close()

    def close(self) -> None:
        """Waits for the runs of this process, and ends every wait."""
        companion.finish(self.connection.client, grace=5)
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.connection.close()

    # people

    def approve_all(self) -> None:
        """Approves every request at once, also further ones."""
        self.decide_with(lambda _: True)

    def decide_with(self, decide: Callable[[HeldEffect], bool | None]) -> None:
        """Decides with a function: true approves, false rejects, `None` leaves the request open."""
        with self._changed:
            self._decide = decide
            for entry in self._entries.values():
                self._consult(entry)
            self._changed.notify_all()

    def approve(self, held: _HasState | HeldEffect | str, by: str = "approver", expires_in: float = 3_600) -> None:
        with self._changed:
            self._approve(self._waiting(held), by, expires_in)
            self._changed.notify_all()

    def reject(self, held: _HasState | HeldEffect | str, comment: str | None = None, by: str = "approver") -> None:
        with self._changed:
            entry = self._waiting(held)
            entry.state, entry.by, entry.comment = "rejected", by, comment
            self._changed.notify_all()

    def undo(self, held: _HasState | HeldEffect | str) -> HeldEffect:
        """Requests the compensation of an applied effect, as `holdpoint effect undo` does.

        It waits for an approval of its own. A worker whose function has a `compensate` carries it out.
        """
        with self._changed:
            entry = self._entry(held)
            if entry.state != "applied" or not self._capabilities[entry.capability].get("compensate"):
                raise AssertionError(f"{entry.key} is {entry.state}; only an applied effect can be undone")
            undone = undo_of(entry)
            undone = self._entries.setdefault(undone.id, undone)
            self._consult(undone)
            self._changed.notify_all()
            return HeldEffect.model_validate(undone.view())

    def answer(self, held: _HasState | HeldEffect | str, answer: Answer, by: str = "approver") -> None:
        """A person answers whether an effect in doubt happened."""
        with self._changed:
            entry = self._entry(held)
            if entry.state != "in_doubt":
                raise AssertionError(f"{entry.key} is {entry.state}, not in doubt")
            entry.by = by
            if answer == "retry":
                entry.statement = self._signer.answer(entry)
                entry.order, entry.kind, entry.state = "run", "run", "approved"
            elif answer == "applied":
                entry.state, entry.error = "applied", None
            else:
                self._fail(entry, "EXECUTOR_NOT_APPLIED", "the effect did not happen")
            self._changed.notify_all()

    def cancel_running(self, held: _HasState | HeldEffect | str) -> None:
        """Asks the run to stop, as a cancellation does. It learns that with its next beat."""
        with self._changed:
            self._entry(held).is_cancelled = True

    # faults

    def kill(self, at: Point, key: str | None = None) -> None:
        """Ends the process at a point of the next run: `hold` and `wait` raise `Killed`.

        The ledger notices that the worker is silent. Hold the same key again to see what the next process finds.
        """
        with self._changed:
            self._kill_at = (at, key)

    def expire_leases(self) -> None:
        """The leases of all runs end, as if their workers had been silent."""
        with self._changed:
            for entry in self._entries.values():
                if entry.holder is not None:
                    self._lose(entry)
            self._changed.notify_all()

    # what happened

    def state(self, held: _HasState | HeldEffect | str) -> str:
        with self._changed:
            return self._entry(held).state

    def ends(self, held: _HasState | HeldEffect | str) -> list[dict[str, Any]]:
        """The recorded result of each start, in order."""
        with self._changed:
            return list(self._entry(held).ends)

    def wait_for(self, held: _HasState | HeldEffect | str, state: str) -> None:
        """Waits until an effect has a state. Raises `AssertionError` after ten seconds."""
        with self._changed:
            entry = self._entry(held)
            if not self._changed.wait_for(lambda: entry.state == state, 10):
                raise AssertionError(f"{entry.key} is {entry.state}, not {state}")

    @property
    def pending(self) -> list[HeldEffect]:
        """Effects that wait for a decision."""
        with self._changed:
            return [
                HeldEffect.model_validate(entry.view()) for entry in self._entries.values() if entry.state == "waiting"
            ]

    def preview(self, held: _HasState | HeldEffect | str) -> dict[str, Any] | None:
        """The preview that approvers see. `None` before a worker has made it, and for an effect without one."""
        with self._changed:
            entry = self._entry(held)
            # An argument of an effect without a preview may have this name, too.
            if entry.part != "run" or not self._capabilities[entry.capability].get("preview"):
                return None
            preview: dict[str, Any] | None = entry.effect["args"].get("preview")
            return preview

    def public_keys(self) -> str:
        """The keys of this gate in PEM."""
        return self._signer.public_keys()

    # inside

    def _entry(self, held: _HasState | HeldEffect | str) -> Entry:
        if not isinstance(held, (str, HeldEffect)):
            if held.state is None:
                raise AssertionError("the effect was not requested; await it first")
            held = held.state
        name = held if isinstance(held, str) else held.id
        for entry in self._entries.values():
            if entry.part != "preview" and name in (entry.id, entry.key, entry.effect_id):
                return entry
        raise AssertionError(f"no effect {name} was requested")

    def _waiting(self, held: _HasState | HeldEffect | str) -> Entry:
        entry = self._entry(held)
        if entry.state != "waiting":
            hint = "; a worker makes its preview first" if entry.state == "requested" else ""
            raise AssertionError(f"{entry.key} is {entry.state}, not waiting{hint}")
        return entry
