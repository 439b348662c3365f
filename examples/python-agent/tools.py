"""The tools of the agent. One reads, and two change the world: these are effects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdpoint import context, effect

ORDERS: dict[str, dict[str, Any]] = {"o_1": {"charge": "ch_1", "cents": 500, "mail": "ada@example.com"}}

#: Stand-ins for a payment API that remembers keys, and for a mail server that does not.
PAYMENTS = Path("payments.json")
MAILS = Path("mails.txt")


def look_up(order: str) -> dict[str, Any]:
    """Changes nothing, and needs no approval."""
    return ORDERS[order]


@effect(
    "agent_refund",
    key=lambda charge: f"refund:{charge}",
    effect_class="keyed",
    risk="high",
    title="Refund ${cents} cents of ${charge}",
)
def refund(charge: str, cents: int) -> str:
    """Refunds a charge of a customer."""
    done = json.loads(PAYMENTS.read_text()) if PAYMENTS.exists() else {}
    done.setdefault(context().key, {"refund": f"re_{charge}", "cents": cents})
    PAYMENTS.write_text(json.dumps(done))
    return str(done[context().key]["refund"])


@effect("agent_mail", key=lambda to, subject: f"{to}:{subject}", kind="notify", title="Mail to ${to}: ${subject}")
def send_mail(to: str, subject: str, text: str) -> None:
    """Sends a mail to a customer."""
    with MAILS.open("a", encoding="utf-8") as sent:
        sent.write(f"{to}: {subject}: {text}\n")


TOOLS: dict[str, Callable[..., Any]] = {"look_up": look_up, "refund": refund, "send_mail": send_mail}
