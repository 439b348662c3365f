"""A claimant: it claims orders, beats while they run, and ends them."""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..context import now
from ..errors import GrantRefused, HoldpointError, Unreachable
from ..http import pauses
from ..models import BeatItem, ClaimedOrder
from .calls import Call, Calls, Result, failed_clean, found, text_of
from .claims import Claims
from .runs import Run, Runs
from .signing import ClaimKey
from .trust import Trust

if TYPE_CHECKING:
    from ..base_effect import BaseEffect
    from ..defaults import OnPoint

log = logging.getLogger("holdpoint.worker")

_CLAIMED_MAX = 100
#: Ends that no repeat can record.
_OVER = frozenset(
    {
        "EXECUTOR_CLAIM_LOST",
        "EXECUTOR_CLAIM_ENDED",
        "EXECUTOR_CLAIM_SIGNATURE",
        "EXECUTOR_UNKNOWN_EFFECT",
    }
)
#: The outputs, not the end, are the problem.
_OUTPUTS_REFUSED = frozenset({"CONTRACT_INVALID", "CONTRACT_PAYLOAD_TOO_LARGE", "EXECUTOR_OUTPUTS_TOO_LARGE"})


class Claimant:
    """The conversation of a worker with Holdpoint. Each order runs in a thread of its own."""

    def __init__(
        self,
        effects: Iterable[BaseEffect[..., Any]],
        *,
        claims: Claims,
        trust: Trust,
        runs: Runs,
        calls: Calls,
        name: str,
        concurrency: int,
        lease: float,
        poll: float,
        on_point: OnPoint | None,
        spawn: Callable[[str, Callable[[], None]], object],
    ) -> None:
        self._effects = {each.name: each for each in effects}
        self.uses, self._probes = _labels_of(self._effects.values())
        self._claims = claims
        self._trust = trust
        self._runs = runs
        self._calls = calls
        self._name = name
        self._concurrency = min(concurrency, _CLAIMED_MAX)
        self._lease_ms = round(lease * 1_000)
        self._poll_ms = round(poll * 1_000)
        self._on_point = on_point
        self._spawn = spawn
        self._key = ClaimKey()
        self._claiming: dict[str, Any] | None = None
        #: The name of the seat, once it is taken.
        self.seat: str | None = None

    # claims

    def claim_orders(self) -> None:
        try:
            for pause in self._rounds():
                with self._runs.changed:
                    while len(self._runs) >= self._concurrency and not self._runs.is_leaving:
                        self._runs.changed.wait()
                    if (self._runs.is_leaving and self._claiming is None) or self._runs.is_abandoned:
                        return
                    body = self._claiming or self.next_claim()
                    # A repeat has the same name, so that orders of a lost answer arrive.
                    self._claiming = body
                if not self._claim(body):
                    with self._runs.changed:
                        self._runs.changed.wait(next(pause))
        finally:
            with self._runs.changed:
                self._runs.is_polling = False
                self._runs.changed.notify_all()

    def _rounds(self) -> Iterable[Any]:
        delays = pauses()
        while True:
            failed = self._claiming is not None
            if not failed:
                delays = pauses()
            yield delays

    def next_claim(self) -> dict[str, Any]:
        optional = {"probes": self._probes or None, "seat": self.seat}
        return {
            "claim": secrets.token_urlsafe(24),
            "claimant": self._name,
            "x": self._key.x,
            "uses": self.uses,
            **{name: value for name, value in optional.items() if value},
            "max": max(1, self._concurrency - len(self._runs)),
            "waitMs": self._poll_ms,
            "leaseMs": self._lease_ms,
        }

    def _claim(self, body: dict[str, Any]) -> bool:
        """Asks once. False if no answer came."""
        asked_at = now()
        wait = 0 if self._runs.is_leaving else body["waitMs"]
        try:
            answer = self._claims.claim({**body, "waitMs": wait})
        except Unreachable as error:
            log.debug("no answer to a claim: %s", error)
            return False
        except HoldpointError as error:
            log.warning("claims of %s are refused: %s", ", ".join(self.uses), error)
            self._claiming = None
            self._runs.fail(error)
            return True
        with self._runs.changed:
            if self._claiming is body:
                self._claiming = None
        for claimed in answer.items:
            self.take(claimed, asked_at)
        return True

    def end_poll(self) -> None:
        """Repeats the claim that waits, without a wait: so no order gets lost, and the poll ends now."""
        with self._runs.changed:
            body = self._claiming
        if body is not None:
            with contextlib.suppress(HoldpointError):
                asked_at = now()
                for claimed in self._claims.claim({**body, "waitMs": 0}).items:
                    self.take(claimed, asked_at)

    def take(self, claimed: ClaimedOrder, asked_at: float) -> None:
        run = Run(claimed, asked_at)
        if self._runs.add(run):
            self._spawn(f"run {run.id}", lambda: self._carry_out(run))

    # beats

    def beat(self) -> None:
        while True:
            began = now()
            with self._runs.changed:
                while True:
                    if self._runs.is_abandoned or (
                        self._runs.is_leaving and not self._runs and not self._runs.is_polling
                    ):
                        return
                    runs = [run for run in self._runs.present() if run.beats]
                    shortest = min((run.lease.seconds for run in runs), default=self._lease_ms / 1_000)
                    left = began + shortest / 3 - now()
                    if left <= 0:
                        break
                    self._runs.changed.wait(left)
            for start in range(0, len(runs), _CLAIMED_MAX):
                self._send_beat(runs[start : start + _CLAIMED_MAX])

    def _send_beat(self, runs: list[Run]) -> bool:
        """Whether an answer came."""
        is_answered = False
        asked_at = now()
        by_name = {(run.id, run.epoch): run for run in runs}
        try:
            answer = self._claims.beat(self._key.beat(list(by_name)))
        except HoldpointError as error:
            log.debug("no answer to a beat: %s", error)
        else:
            is_answered = True
            for item in answer.items:
                run = by_name.get((item.id, item.epoch))
                if run is not None:
                    self._hear(run, item, asked_at)
        for run in runs:
            if run.lease.left <= 0:
                run.context.stop("lost")
        return is_answered

    def _ask(self, run: Run) -> bool:
        """Repeats a beat until an answer comes, or until the lease is over. False without an answer."""
        for pause in pauses():
            # A run whose time has passed must not extend its lease.
            if not run.beats:
                return False
            if self._send_beat([run]):
                return True
            if run.lease.left <= 0 or self._runs.is_abandoned:
                return False
            with self._runs.changed:
                self._runs.changed.wait_for(lambda: self._runs.is_abandoned, min(pause, run.lease.left))
        raise AssertionError("pauses do not end")

    @staticmethod
    def _hear(run: Run, item: BeatItem, asked_at: float) -> None:
        if item.state == "lost":
            run.lease.is_lost = True
            run.context.stop("lost")
            return
        run.lease.extend(asked_at, item.lease_ms)
        if item.state == "cancelled":
            run.context.stop("cancelled")

    # runs

    def _carry_out(self, run: Run) -> None:
        try:
            self._reach("before", run)
            result = self.result_of(run)
            self._reach("after", run)
            self._end(run, result)
        finally:
            self._runs.remove(run)

    def _reach(self, point: str, run: Run) -> None:
        if self._on_point is not None:
            self._on_point(point, run.claimed)

    def result_of(self, run: Run) -> Result:
        run.context.ask = lambda: self._ask(run)
        is_probe = run.claimed.kind == "probe"
        try:
            call = self._call_of(run)
        except GrantRefused as error:
            log.error("%s is refused: %s", run.named, error)  # noqa: TRY400 -- the text says it all
            message = f"{error.code}: {error.message}"
            return found("unknown", message) if is_probe else failed_clean("REMOTE_GRANT_REFUSED", message)
        except ValidationError as error:
            message = f"the arguments do not fit the function: {error}"
            return found("unknown", message) if is_probe else failed_clean("REMOTE_ARGUMENTS", message)
        if not is_probe and not self._is_in_force(run):
            return failed_clean("REMOTE_NOT_STARTED", "the lease had ended before the function started")
        return self._calls.probed(run, call) if is_probe else self._calls.called(run, call)

    def _call_of(self, run: Run) -> Call:
        """The function of an order with its arguments, if approvals signed the order."""
        order = run.claimed.order
        label = str(order.effect.get("uses"))
        name, _, part = label.removeprefix("cap.remote.").partition(".")
        effect = self._effects.get(name)
        if effect is None or label not in self.uses:
            raise GrantRefused("EXECUTOR_UNKNOWN_CAPABILITY", f"this program does not carry out {label}")
        self._verify(run)
        args = order.effect.get("args")
        return Call.of(effect, part, run.claimed.kind, args if isinstance(args, dict) else {})

    def _verify(self, run: Run) -> None:
        for pause in pauses():
            try:
                return self._trust.check(run.claimed)
            except Unreachable as error:
                if run.lease.left <= 0 or self._runs.is_abandoned:
                    raise GrantRefused("EXECUTOR_GRANT_INVALID", "the keys of approvals are unknown") from error
                run.context.cancelled.wait(pause)
        raise AssertionError("pauses do not end")

    def _is_in_force(self, run: Run) -> bool:
        """Certain that the lease is in force: the answer may have been under way for a long time."""
        if run.lease.left < run.lease.seconds / 2:
            self._send_beat([run])
        return run.lease.left > 0 and run.context.why != "cancelled"

    def _end(self, run: Run, result: Result) -> None:
        """Repeats the end until it is recorded, or until no repeat can record it."""
        body = self._key.end(run.id, run.epoch, result)
        for pause in pauses():
            if self._runs.is_abandoned:
                return
            try:
                self._claims.end(body)
            except Unreachable as error:
                log.debug("no answer to the end of %s: %s", run.named, error)
            except HoldpointError as error:
                if error.code in _OVER:
                    log.warning("the end of %s is not recorded: %s", run.named, error)
                    return
                if error.code in _OUTPUTS_REFUSED and result.get("outputs"):
                    log.error("the outputs of %s are refused: %s", run.named, error)  # noqa: TRY400
                    result = {**result, "outputs": {"outputsInvalid": text_of(error.message)}}
                    body = self._key.end(run.id, run.epoch, result)
                    continue
                log.warning("the end of %s is repeated: %s", run.named, error)
            else:
                log.info("%s: %s", run.named, result["kind"])
                return
            with self._runs.changed:
                self._runs.changed.wait_for(lambda: self._runs.is_abandoned, pause)


def _labels_of(effects: Iterable[BaseEffect[..., Any]]) -> tuple[list[str], list[str]]:
    """The labels that a worker carries out, and those that it can probe."""
    uses: list[str] = []
    probes: list[str] = []
    for effect in effects:
        uses.append(effect.label)
        if effect.previewer is not None:
            uses.append(f"{effect.label}.preview")
        if effect.compensator is not None:
            uses.append(f"{effect.label}.compensate")
        if effect.prober is not None:
            probes.append(effect.label)
    return uses, probes
