"""An agent whose tools are effects: `python agent.py o_1`."""

from __future__ import annotations

import sys
from typing import Any

from holdpoint import EffectError
from model import Answer, Model, SupportModel, ToolCall, Turn
from tools import TOOLS

_TURNS_MAX = 10


def call(tool: ToolCall) -> Any:
    """Waits until an approver has decided about this exact call. A refusal is a result, so that the model can react."""
    try:
        return TOOLS[tool.name](**tool.args)
    except EffectError as refused:
        return f"{type(refused).__name__}: {refused.message}"


def run(model: Model, goal: str) -> str:
    turns: list[Turn] = []
    while len(turns) < _TURNS_MAX:
        wanted = model.next(goal, turns)
        if isinstance(wanted, Answer):
            return wanted.text
        print("calls:", wanted.name, flush=True)
        turns.append(Turn(wanted, call(wanted)))
    raise RuntimeError(f"no answer after {_TURNS_MAX} turns")


if __name__ == "__main__":
    print("answer:", run(SupportModel(), f"Refund order {sys.argv[1]}"))
