"""The model of the agent: a stand-in with the shape of a chat API, without an account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolCall:
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    text: str


@dataclass(frozen=True)
class Turn:
    """A call and its result, as the model sees them."""

    call: ToolCall
    result: Any


class Model(Protocol):
    def next(self, goal: str, turns: Sequence[Turn]) -> ToolCall | Answer: ...


class SupportModel:
    """Looks an order up, refunds it, and tells the customer how that ended."""

    def next(self, goal: str, turns: Sequence[Turn]) -> ToolCall | Answer:
        if not turns:
            return ToolCall("look_up", {"order": goal.rsplit(maxsplit=1)[-1]})
        order = turns[0].result
        if len(turns) == 1:
            return ToolCall("refund", {"charge": order["charge"], "cents": order["cents"]})
        refund = str(turns[1].result)
        if len(turns) == 2:
            text = "it is on its way" if refund.startswith("re_") else "we cannot refund it"
            return ToolCall("send_mail", {"to": order["mail"], "subject": "Your refund", "text": text})
        return Answer(f"refund: {refund}; mail: {turns[2].result or 'sent'}")
