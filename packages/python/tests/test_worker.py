"""The worker against the gate in memory: one run for each start, and the truth about it."""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import holdpoint
from holdpoint import (
    Applied,
    EffectCancelled,
    EffectFailed,
    EffectInDoubt,
    EffectRejected,
    HoldpointError,
    LeaseLost,
    NothingHappened,
    OutputsInvalid,
    WaitTimeout,
    context,
    effect,
)
from holdpoint.claiming.runs import Run
from holdpoint.claiming.seat import Seat
from holdpoint.claiming.worker import Worker
from holdpoint.context import now
from holdpoint.models import ClaimAnswer
from holdpoint.testing import Gate, Killed

from .conftest import FaultyGate

runs: list[Any] = []


@pytest.fixture(autouse=True)
def _no_runs() -> None:
    runs.clear()


@effect("refund", key=lambda charge: f"refund:{charge}", risk="high")
def refund(charge: str, cents: int = 500) -> str:
    runs.append(holdpoint.context().epoch)
    if cents == 0:
        raise NothingHappened("card declined", "the card was declined")
    if cents < 0:
        raise ConnectionError("no answer from the bank")
    return f"re_{charge}"


@effect("keyed_refund", key=lambda charge: f"refund:{charge}", effect_class="keyed")
def keyed_refund(charge: str) -> str:
    runs.append((holdpoint.context().key, holdpoint.context().epoch))
    return f"re_{charge}"


table: set[str] = set()


@effect("migrate", key=lambda version: version, effect_class="probeable")
def migrate(version: str) -> str:
    runs.append(version)
    table.add(version)
    return version


@migrate.probe
def is_migrated(version: str) -> Applied | bool:
    return Applied(version) if version in table else False


# One process


def test_an_approved_effect_runs_once_and_returns_its_result(gate: Gate) -> None:
    held = refund.hold(charge="ch_1")
    assert runs == []
    gate.approve(held)
    assert held.wait() == "re_ch_1"
    assert refund.hold("ch_1").wait() == "re_ch_1"
    assert runs == [1]


def test_a_call_holds_and_waits(gate: Gate) -> None:
    gate.approve_all()
    assert refund("ch_1") == "re_ch_1"


def test_a_rejected_effect_never_runs(gate: Gate) -> None:
    held = refund.hold("ch_1")
    gate.reject(held, "too much", by="ada")
    with pytest.raises(EffectRejected, match="rejected by ada: too much"):
        held.wait()
    assert runs == []


def test_a_cancelled_effect_never_runs(gate: Gate) -> None:
    held = refund.hold("ch_1")
    held.cancel("no longer")
    with pytest.raises(EffectCancelled):
        held.wait()
    assert runs == []


def test_a_wait_ends_after_its_time_and_can_be_repeated(gate: Gate) -> None:
    held = refund.hold("ch_1")
    with pytest.raises(WaitTimeout, match="waiting"):
        held.wait(timeout=0)
    gate.approve(held)
    assert held.wait() == "re_ch_1"


def test_the_same_key_with_other_arguments_is_refused(gate: Gate) -> None:
    refund.hold("ch_1", 1)
    with pytest.raises(HoldpointError, match="ORCHESTRATOR_TASK_CONFLICT"):
        refund.hold("ch_1", 2)


def test_a_function_that_states_that_nothing_happened_fails_cleanly(gate: Gate) -> None:
    gate.approve_all()
    with pytest.raises(EffectFailed) as failed:
        refund("ch_1", 0)
    assert failed.value.code == "REMOTE_CARD_DECLINED"
    assert failed.value.message == "the card was declined"


def test_every_other_exception_leaves_the_effect_in_doubt(gate: Gate) -> None:
    gate.approve_all()
    held = refund.hold("ch_1", -1)
    with pytest.raises(EffectInDoubt, match="no answer from the bank"):
        held.wait()
    gate.answer(held, "applied")
    assert gate.state(held) == "applied"
    assert runs == [1]


def test_a_person_can_repeat_an_effect_in_doubt(gate: Gate) -> None:
    gate.approve_all()
    held = refund.hold("ch_1", -1)
    with pytest.raises(EffectInDoubt):
        held.wait()
    gate.answer(held, "retry")
    with pytest.raises(EffectInDoubt):
        held.wait()
    assert runs == [1, 2]


def test_a_result_that_does_not_fit_is_recorded_as_applied(gate: Gate) -> None:
    @effect("wrong", key=lambda: "wrong")
    def wrong() -> int:
        return "no number"  # type: ignore[return-value]

    gate.approve_all()
    held = wrong.hold()
    with pytest.raises(OutputsInvalid, match="happened"):
        held.wait()
    assert gate.state(held) == "applied"


def test_outputs_over_the_limit_are_dropped_and_the_effect_is_applied(gate: Gate) -> None:
    @effect("large", key=lambda: "large")
    def large() -> dict[str, str]:
        return {"text": "x" * 300_000}

    gate.approve_all()
    assert "limit is 262144" in large()["outputsInvalid"]


def test_effects_of_asyncio_run_in_the_loop_of_the_wait(gate: Gate) -> None:
    loops: list[Any] = []

    @effect("later", key=lambda a: f"later:{a}")
    async def later(a: int) -> int:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return a + holdpoint.context().epoch

    async def main() -> None:
        held = await later.hold(1)
        gate.approve(held)
        assert await held.wait() == 2
        gate.approve_all()
        assert await later.hold(2).wait() == 3
        assert list(await asyncio.gather(later(3), later(4))) == [4, 5]
        assert set(loops) == {asyncio.get_running_loop()}

    asyncio.run(main())


def test_the_time_of_an_asynchronous_run_is_limited(gate: Gate) -> None:
    @effect("slow", key=lambda: "slow", timeout=0.01)
    async def slow() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        gate.approve_all()
        with pytest.raises(EffectInDoubt, match="TimeoutError"):
            await slow.hold().wait()

    asyncio.run(main())


# Death


def test_a_process_that_dies_before_the_function_leaves_an_opaque_effect_in_doubt(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("before")
    with pytest.raises(Killed):
        refund.hold("ch_1").wait()
    with pytest.raises(EffectInDoubt):
        refund.hold("ch_1").wait()
    assert runs == []


def test_a_process_that_dies_after_the_function_leaves_an_opaque_effect_in_doubt(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("after")
    with pytest.raises(Killed):
        refund.hold("ch_1").wait()
    with pytest.raises(EffectInDoubt):
        refund.hold("ch_1").wait()
    assert runs == [1]


def test_a_keyed_effect_is_repeated_with_the_same_key_and_the_next_epoch(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("after")
    with pytest.raises(Killed):
        keyed_refund("ch_1")
    assert keyed_refund("ch_1") == "re_ch_1"
    assert runs == [("refund:ch_1", 1), ("refund:ch_1", 2)]


def test_a_probe_finds_an_applied_effect_so_that_it_does_not_run_again(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("after")
    with pytest.raises(Killed):
        migrate("v1")
    assert migrate("v1") == "v1"
    assert runs == ["v1"]


def test_a_probe_finds_that_nothing_happened_so_that_it_runs(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("before")
    with pytest.raises(Killed):
        migrate("v2")
    assert migrate("v2") == "v2"
    assert runs == ["v2"]


def test_a_process_that_dies_after_its_end_has_done_everything(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("ended")
    with pytest.raises(Killed):
        refund("ch_1")
    assert refund("ch_1") == "re_ch_1"
    assert runs == [1]


# Lost answers


@pytest.mark.parametrize("path", ["/claims", "/claims/ends", "/effects", "/keys"])
def test_a_lost_answer_changes_nothing(gate: FaultyGate, path: str) -> None:
    gate.approve_all()
    refund.register()
    gate.lost[path] = 2
    with holdpoint.worker(refund):
        assert refund("ch_1") == "re_ch_1"
    assert gate.lost[path] == 0
    assert runs == [1]
    assert [end["kind"] for end in gate.ends("refund:ch_1")] == ["applied"]


def test_a_claim_whose_answer_was_lost_is_repeated_by_its_name(gate: FaultyGate) -> None:
    gate.approve_all()
    refund.register()
    held = refund.hold("ch_1")
    gate.lost["/claims"] = 1
    held.wait()
    names = [body["claim"] for path, body in gate.requests if path == "/claims" and isinstance(body, dict)]
    assert names[0] == names[1]


def test_an_end_that_is_lost_is_not_repeated(gate: FaultyGate) -> None:
    gate.approve_all()

    @effect("silent", key=lambda: "silent")
    def silent() -> None:
        gate.expire_leases()

    with pytest.raises(EffectInDoubt):
        silent()
    assert gate.ends("silent") == []


# Orders that do not fit


def _claimed(gate: Gate, change: Any) -> None:
    """Alters every order on its way to the worker."""
    inner = gate._claim

    def altered(body: dict[str, Any], life: int) -> tuple[int, Any]:
        status, answer = inner(body, life)
        items = json.loads(json.dumps(answer["items"]))
        for item in items:
            change(item)
        return status, {"items": items}

    gate._claim = altered  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "change",
    [
        lambda item: item["order"]["effect"]["args"].update(cents=999),
        lambda item: item["order"].update(grant="a.b.c"),
        lambda item: item["order"].pop("grant"),
        lambda item: item["order"].update(digest="0" * 64),
        lambda item: item["order"]["effect"].update(uses="cap.remote.other"),
    ],
    ids=["other arguments", "a forged grant", "no grant", "another digest", "another capability"],
)
def test_an_order_that_approvals_did_not_sign_is_refused(gate: Gate, change: Any) -> None:
    gate.approve_all()
    _claimed(gate, change)
    with pytest.raises(EffectFailed) as failed:
        refund("ch_1")
    assert failed.value.code == "REMOTE_GRANT_REFUSED"
    assert runs == []


def test_an_expired_grant_is_refused(gate: Gate) -> None:
    held = refund.hold("ch_1")
    gate.approve(held, expires_in=-61)
    with pytest.raises(EffectFailed, match="EXECUTOR_GRANT_EXPIRED"):
        held.wait()
    assert runs == []


def test_pinned_keys_refuse_the_grants_of_another_deployment(gate: Gate, tmp_path: Path) -> None:
    pinned = tmp_path / "keys.pem"
    pinned.write_text(Gate().public_keys())
    gate.approve_all()
    with holdpoint.worker(refund, public_keys=pinned), pytest.raises(EffectFailed, match="not signed"):
        refund("ch_1")


def test_arguments_of_an_older_definition_fail_cleanly(gate: Gate) -> None:
    gate.approve_all()
    refund.register()
    refund.connection.client.hold("refund", {"charge": "ch_1", "colour": "red"}, "refund:ch_1")
    with holdpoint.worker(refund):
        gate.wait_for("refund:ch_1", "failed")
    assert gate.ends("refund:ch_1")[0]["error"]["code"] == "REMOTE_ARGUMENTS"


def test_an_order_that_arrives_twice_runs_once(gate: Gate) -> None:
    gate.approve_all()
    with holdpoint.worker(refund) as worker:
        held = refund.hold("ch_1")
        held.wait()
        status, answer = gate.handle("POST", "/claims", {}, {**worker._claimant.next_claim(), "waitMs": 0})
        assert (status, answer) == (200, {"items": []})
        claimed = gate._claimed(gate._entry("refund:ch_1"))
        for item in ClaimAnswer.model_validate({"items": [claimed, claimed]}).items:
            # The lease of a late answer has ended: that alone would refuse it.
            worker._claimant.take(item, now())
    assert runs == [1]


# Leases


def test_a_function_learns_of_a_cancellation_and_of_a_lost_lease(gate: Gate) -> None:
    started = threading.Event()
    heard: list[Any] = []

    @effect("long", key=lambda: "long")
    def long() -> None:
        context = holdpoint.context()
        context.assert_in_force()
        started.set()
        context.cancelled.wait()
        heard.append(context.why)
        with pytest.raises(LeaseLost):
            context.assert_in_force()

    gate.approve_all()
    with holdpoint.worker(long, lease=0.3):
        long.hold()
        started.wait()
        gate.expire_leases()
        gate.wait_for("long", "in_doubt")
        gate_saw = threading.Event()
        while not heard:
            gate_saw.wait(0.01)
    assert heard == ["lost"]


def strike(gate: Gate, fault: str) -> None:
    """The function cannot know it yet: its next beat is ten seconds away."""
    if fault == "cancelled":
        gate.cancel_running("careful")
    else:
        gate.expire_leases()


FAULTS = [("cancelled", "EXECUTOR_CANCELLED"), ("lost", "EXECUTOR_CLAIM_LOST")]


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_a_function_asks_the_ledger_right_before_its_change(gate: Gate, fault: str, code: str) -> None:
    @effect("careful", key=lambda: "careful")
    def careful() -> None:
        context().assert_in_force()
        strike(gate, fault)
        with pytest.raises(LeaseLost) as lost:
            context().assert_in_force()
        runs.append(lost.value.code)

    gate.approve_all()
    held = careful.hold()
    with holdpoint.worker(careful):
        gate.wait_for(held, "applied" if fault == "cancelled" else "in_doubt")
    assert runs == [code]


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_an_asynchronous_function_asks_the_ledger_without_blocking_its_loop(gate: Gate, fault: str, code: str) -> None:
    @effect("careful", key=lambda: "careful")
    async def careful() -> None:
        await context().assert_in_force_async()
        strike(gate, fault)
        asking = asyncio.ensure_future(context().assert_in_force_async())
        await asyncio.sleep(0)
        assert not asking.done()
        with pytest.raises(LeaseLost) as lost:
            await asking
        runs.append(lost.value.code)

    async def main() -> None:
        gate.approve_all()
        await careful.hold().wait(return_in_doubt=True)

    with contextlib.suppress(EffectInDoubt):
        asyncio.run(main())
    assert runs == [code]


def test_a_lost_answer_to_a_beat_is_asked_for_again(gate: FaultyGate) -> None:
    @effect("careful", key=lambda: "careful")
    def careful() -> None:
        gate.lost["/claims/beats"] = 2
        context().assert_in_force()

    gate.approve_all()
    careful()
    assert gate.lost["/claims/beats"] == 0


def test_without_an_answer_before_the_end_of_the_lease_the_effect_is_not_in_force(gate: FaultyGate) -> None:
    @effect("careful", key=lambda: "careful")
    def careful() -> None:
        gate.lost["/claims/beats"] = 1_000_000
        with pytest.raises(LeaseLost, match="EXECUTOR_CLAIM_LOST"):
            context().assert_in_force()
        runs.append("refused")

    gate.approve_all()
    with holdpoint.worker(careful, lease=0.3):
        careful.hold().wait()
    assert runs == ["refused"]


def test_a_run_whose_time_has_passed_is_not_in_force(gate: FaultyGate) -> None:
    @effect("careful", key=lambda: "careful", timeout=0.01)
    def careful() -> None:
        context().cancelled.wait()
        with pytest.raises(LeaseLost, match="time of the run"):
            context().assert_in_force()
        runs.append([path for path, _ in gate.requests if path == "/claims/beats"])

    gate.approve_all()
    careful()
    assert runs == [[]]


def test_a_run_of_a_stopping_worker_is_in_force_until_it_is_cancelled(gate: Gate) -> None:
    started = threading.Event()

    @effect("careful", key=lambda: "careful")
    def careful() -> None:
        started.set()
        context().cancelled.wait()
        runs.append(context().why)
        context().assert_in_force()
        strike(gate, "cancelled")
        with pytest.raises(LeaseLost, match="EXECUTOR_CANCELLED"):
            context().assert_in_force()
        runs.append(context().why)

    gate.approve_all()
    with holdpoint.worker(careful):
        careful.hold()
        started.wait()
    assert runs == ["stopping", "cancelled"]


def test_a_cancellation_reaches_the_function_with_a_beat(gate: Gate) -> None:
    started = threading.Event()

    @effect("long", key=lambda: "long")
    def long() -> str:
        started.set()
        holdpoint.context().cancelled.wait()
        raise NothingHappened("cancelled", f"stopped: {holdpoint.context().why}")

    gate.approve_all()
    with holdpoint.worker(long, lease=0.3):
        held = long.hold()
        started.wait()
        gate.cancel_running(held)
        with pytest.raises(EffectFailed, match="stopped: cancelled"):
            held.wait()


def _late(worker: Worker) -> Run:
    """An order whose answer was under way for longer than its lease."""
    refund.hold("ch_1")
    claimed = worker._claimant._claims.claim(worker._claimant.next_claim()).items[0]
    return Run(claimed, now() - 31)


def test_a_function_does_not_start_after_its_lease(gate: Gate) -> None:
    gate.approve_all()
    worker = Worker(refund)
    run = _late(worker)
    gate.expire_leases()
    assert worker._claimant.result_of(run)["error"]["code"] == "REMOTE_NOT_STARTED"
    assert runs == []


def test_a_late_order_starts_when_a_beat_shows_that_its_lease_is_in_force(gate: FaultyGate) -> None:
    gate.approve_all()
    worker = Worker(refund)
    run = _late(worker)
    assert worker._claimant.result_of(run)["kind"] == "applied"
    assert [path for path, _ in gate.requests].count("/claims/beats") == 1
    assert runs == [1]


def test_a_synchronous_function_is_asked_to_stop_after_its_time(gate: FaultyGate) -> None:
    @effect("long", key=lambda: "long", timeout=0.01)
    def long() -> str:
        holdpoint.context().cancelled.wait()
        raise NothingHappened("stopped", str(holdpoint.context().why))

    gate.approve_all()
    with pytest.raises(EffectFailed, match="timeout"):
        long()


def test_a_stopped_worker_finishes_its_runs_and_claims_nothing_new(gate: Gate) -> None:
    started, go_on = threading.Event(), threading.Event()

    @effect("slow", key=lambda n: f"slow:{n}")
    def slow(n: int) -> int:
        started.set()
        go_on.wait()
        return n

    gate.approve_all()
    worker = holdpoint.worker(slow).start()
    first = slow.hold(1)
    started.wait()
    worker.leave()
    second = slow.hold(2)
    go_on.set()
    worker.stop()
    assert gate.state(first) == "applied"
    assert gate.state(second) == "approved"


def test_a_run_that_outlives_the_stop_is_not_reported(gate: Gate) -> None:
    started, go_on = threading.Event(), threading.Event()

    @effect("slow", key=lambda: "slow")
    def slow() -> None:
        started.set()
        go_on.wait()

    gate.approve_all()
    worker = holdpoint.worker(slow).start()
    held = slow.hold()
    started.wait()
    worker.stop(grace=0)
    go_on.set()
    assert gate.state(held) == "running"


def test_refused_claims_stop_the_worker_with_the_code(gate: Gate) -> None:
    def refuse(_body: object, _life: int) -> tuple[int, object]:
        return 403, {"code": "EXECUTOR_CLAIM_REFUSED", "detail": "the token may not claim refund"}

    gate._claim = refuse  # type: ignore[method-assign,assignment]
    worker = holdpoint.worker(refund)
    with pytest.raises(HoldpointError, match="EXECUTOR_CLAIM_REFUSED"):
        worker.run()


def test_a_worker_registers_unknown_capabilities_and_keeps_known_ones(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    refund.connection.client.register(refund.definition.model_copy(update={"risk": "low"}))
    with holdpoint.worker(refund, keyed_refund):
        known = {each.name: each for each in refund.connection.client.list_capabilities()}
    assert known["refund"].risk == "low"
    assert "keyed_refund" in known
    assert "refund is registered otherwise" in caplog.text


def test_previews_and_compensations_are_claimed_too() -> None:
    @effect("charge", key=lambda a: a)
    def charge(a: str) -> str:
        return a

    @charge.preview
    def shown(a: str) -> str:
        return f"charge {a}"

    @charge.compensate
    def undo(a: str, outputs: dict[str, Any]) -> None: ...

    with Gate():
        worker = Worker(charge)
    assert worker._claimant.uses == ["cap.remote.charge", "cap.remote.charge.preview", "cap.remote.charge.compensate"]
    assert charge.definition.body()["preview"] is True
    assert charge.definition.body()["compensate"] is True


def _work(gate: Gate, part: str, args: dict[str, Any], kind: str) -> ClaimAnswer:
    """An order for a part of the effect `charge`: a preview is work, and a compensation has a grant."""
    entry = gate._entry("charge:1")
    entry.effect = {**entry.effect, "uses": f"cap.remote.charge.{part}", "args": args, "kind": kind}
    entry.exp = int(time.time()) + 60
    item = gate._claimed(entry)
    if kind == "work":
        del item["order"]["grant"]
    return ClaimAnswer.model_validate({"items": [{**item, "epoch": 1}]})


@pytest.mark.parametrize(
    ("part", "args", "kind", "outputs"),
    [
        ("preview", {"a": "1"}, "work", {"result": "charge 1"}),
        ("compensate", {"args": {"a": "1"}, "outputs": {"result": "x"}}, "other", {"undone": "x"}),
        ("preview", {"a": "1"}, "other", {"result": "charge 1"}),
    ],
)
def test_a_preview_and_a_compensation_run_with_their_arguments(
    gate: Gate, part: str, args: dict[str, Any], kind: str, outputs: dict[str, Any]
) -> None:
    @effect("charge", key=lambda a: f"charge:{a}")
    def charge(a: str) -> str:
        return a

    @charge.preview
    def shown(a: str) -> str:
        return f"charge {a}"

    @charge.compensate
    def undo(a: str, outputs: dict[str, Any]) -> dict[str, Any]:
        return {"undone": outputs["result"]}

    gate.approve_all()
    charge.hold("1")
    worker = Worker(charge)
    claimed = _work(gate, part, args, kind).items[0]
    run = Run(claimed, now())
    assert worker._claimant.result_of(run) == {"kind": "applied", "outputs": outputs}


@effect("charge", key=lambda a: f"charge:{a}", effect_class="probeable")
def planned(a: str) -> str:
    runs.append(("run", a, context().preview))
    return a


@planned.preview
def plan(a: str) -> dict[str, str]:
    if a == "unreadable":
        raise RuntimeError("no plan")
    return {"plan": f"charge {a}"}


@planned.probe
def look(a: str) -> Applied:
    runs.append(("probe", a, context().preview))
    return Applied(a)


@planned.compensate
def undo_it(a: str, outputs: dict[str, Any]) -> None:
    runs.append(("undo", a, outputs, context().preview))


PLAN = {"plan": "charge 1"}


def test_approvers_see_the_preview_and_the_function_gets_it(gate: Gate) -> None:
    held = planned.hold("1")
    assert (held.state.state, held.state.effect) == ("requested", None)
    with pytest.raises(AssertionError, match="a worker makes its preview first"):
        gate.approve(held)
    with holdpoint.worker(planned):
        gate.wait_for(held, "waiting")
        assert gate.preview(held) == PLAN
        assert runs == []
        gate.approve(held)
        assert held.wait(work=False) == "1"
    assert runs == [("run", "1", PLAN)]


def test_a_function_its_probe_and_its_compensation_get_the_approved_preview(gate: Gate) -> None:
    gate.approve_all()
    gate.kill("after")
    with pytest.raises(Killed):
        planned("1")
    assert planned("1") == "1"
    with holdpoint.worker(planned):
        gate.wait_for(gate.undo("charge:1"), "applied")
    assert runs == [("run", "1", PLAN), ("probe", "1", PLAN), ("undo", "1", {"result": "1"}, PLAN)]
    assert gate.state("charge:1") == "applied"


def test_a_compensation_waits_for_an_approval_of_its_own(gate: Gate) -> None:
    held = planned.hold("1")
    with holdpoint.worker(planned):
        with pytest.raises(AssertionError, match="only an applied effect"):
            gate.undo(held)
        gate.wait_for(held, "waiting")
        gate.approve(held)
        held.wait(work=False)
        undone = gate.undo(held)
        assert [each.id for each in gate.pending] == [undone.id]
        assert gate.undo(held).id == undone.id
        gate.reject(undone, "keep it")
    assert runs == [("run", "1", PLAN)]


def test_without_its_preview_an_effect_fails_and_approvers_are_not_asked(gate: Gate) -> None:
    gate.approve_all()
    with pytest.raises(EffectFailed, match="REMOTE_PREVIEW_FAILED: RuntimeError: no plan"):
        planned("unreadable")
    assert runs == []


def test_an_effect_that_is_cancelled_before_its_preview_never_gets_one(gate: FaultyGate) -> None:
    held = planned.hold("1")
    held.cancel("no longer")
    with holdpoint.worker(planned), pytest.raises(EffectCancelled):
        held.wait(work=False)
    assert (gate.preview(held), gate.ends(held)) == (None, [])


def test_a_lost_answer_to_the_end_of_a_preview_changes_nothing(gate: FaultyGate) -> None:
    gate.approve_all()
    gate.lost["/claims/ends"] = 1
    assert planned("1") == "1"
    assert runs == [("run", "1", PLAN)]


# Seats


def test_a_seat_has_one_holder_and_keeps_its_name(tmp_path: Path) -> None:
    first = Seat(tmp_path)
    with pytest.raises(HoldpointError, match="SEAT_TAKEN"):
        Seat(tmp_path)
    first.release()
    second = Seat(tmp_path)
    assert second.name == first.name
    second.release()


def test_a_seat_is_free_when_its_process_is_killed(tmp_path: Path) -> None:
    seat = f"from holdpoint.claiming.seat import Seat; seat = Seat({str(tmp_path)!r})"
    code = f"{seat}; print('held', flush=True); import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(HoldpointError):
            Seat(tmp_path)
        holder.kill()
    Seat(tmp_path).release()


def test_a_claim_names_the_seat(gate: FaultyGate, tmp_path: Path) -> None:
    gate.approve_all()
    with holdpoint.worker(refund, seat=tmp_path):
        refund("ch_1")
    seats = {body.get("seat") for path, body in gate.requests if path == "/claims" and isinstance(body, dict)}
    assert len(seats) == 1
    assert None not in seats
