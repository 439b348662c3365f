"""A claimant as a process of its own. After `halt`, effects halt at the point that their arguments name, until `go`."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import holdpoint
import httpx
from holdpoint.nats import NatsClaims

target = os.environ["CLAIMANT_TARGET"]
gone = threading.Condition()
is_halting = False
rounds = 0
#: A repeat goes on.
once: set[str] = set()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def halt_at(point: str, wanted: str, key: str) -> None:
    with gone:
        if not is_halting or point != wanted or key in once:
            return
        once.add(key)
        present = rounds
        say(f"halted {key}")
        gone.wait_for(lambda: rounds > present)


def listen() -> None:
    global is_halting, rounds
    for line in sys.stdin:
        with gone:
            is_halting = line == "halt\n"
            rounds += 1
            gone.notify_all()


def is_applied(effect_class: str, key: str) -> bool:
    answer = httpx.get(f"{target}/{effect_class}/", params={"key": key})
    return bool(answer.json()["applied"])


def effect_of(effect_class: Any) -> Any:
    name = f"{effect_class}_{os.environ['CLAIMANT_NAME']}"

    @holdpoint.effect(name, key=lambda key: key, effect_class=effect_class)
    def change(halt: str, key: str) -> None:
        context = holdpoint.context()
        halt_at("before", halt, key)
        context.assert_in_force()
        halt_at("in", halt, key)
        context.assert_in_force()
        headers = {"idempotency-key": context.key, "holdpoint-epoch": str(context.epoch)}
        body = {"halt": halt, "key": key}
        answer = httpx.post(f"{target}/{effect_class}/", json=body, headers=headers)
        # A fenced target refuses a change that an earlier start has made.
        if answer.is_error and not is_applied(effect_class, key):
            raise RuntimeError("the target has refused it")
        halt_at("after", halt, key)

    if effect_class == "probeable":

        @change.probe
        def was_changed(halt: str, key: str) -> bool:
            return is_applied(effect_class, key)

    return change


nats_url = os.environ.get("CLAIMANT_NATS_URL")
claims = NatsClaims(nats_url, os.environ["CLAIMANT_NATS_SEED"]) if nats_url else None
worker = holdpoint.worker(
    *[effect_of(each) for each in ("keyed", "fenced", "probeable", "opaque")],
    claims=claims,
    concurrency=int(os.environ["CLAIMANT_CONCURRENCY"]),
    lease=float(os.environ["CLAIMANT_LEASE_MS"]) / 1_000,
    seat=os.environ["CLAIMANT_SEAT"],
)
worker.start()
say("ready")
listen()
worker.stop()
