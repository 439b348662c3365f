"""Holdpoint in memory, for tests of effects without servers.

    with Gate() as gate:
        held = refund.hold(charge="ch_1", cents=500)
        gate.approve(held)
        assert held.wait() == "re_1"

Everything but the services is real: the client, the worker, the check of signed grants, and signed ends.
"""

from ..claiming.runs import Killed
from .gate import Answer, Gate, Point

__all__ = ["Answer", "Gate", "Killed", "Point"]
