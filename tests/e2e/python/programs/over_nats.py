"""Holds a refund, and claims, beats and ends it over NATS."""

import os
import time

import holdpoint
from holdpoint import effect
from holdpoint.nats import NatsClaims


@effect("refund_over_nats", key=lambda charge: f"refund:{charge}", effect_class="keyed")
def refund(charge: str) -> str:
    # Longer than the lease: only beats keep the effect.
    time.sleep(3)
    holdpoint.context().assert_in_force()
    with open("refunds-over-nats.txt", "a", encoding="utf-8") as file:
        file.write(f"{charge} {holdpoint.context().epoch}\n")
    return f"re_{charge}"


claims = NatsClaims(os.environ["HOLDPOINT_NATS_URL"], os.environ["HOLDPOINT_NATS_SEED_FILE"])
with holdpoint.worker(refund, claims=claims, lease=2):
    held = refund.hold("ch_1")
    print("held:", held.id)
    print("refunded:", held.wait(work=False))
claims.close()
