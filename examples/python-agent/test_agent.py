"""The agent with Holdpoint in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tools
from agent import run
from model import SupportModel

from holdpoint.models import HeldEffect
from holdpoint.testing import Gate, Killed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_agent_refunds_and_writes_after_two_approvals() -> None:
    seen: list[str] = []

    def decide(held: HeldEffect) -> bool:
        seen.append(held.key)
        return True

    with Gate() as gate:
        gate.decide_with(decide)
        assert run(SupportModel(), "Refund order o_1") == "refund: re_ch_1; mail: sent"
    assert seen == ["refund:ch_1", "ada@example.com:Your refund"]
    assert json.loads(tools.PAYMENTS.read_text()) == {"refund:ch_1": {"refund": "re_ch_1", "cents": 500}}


def test_a_rejected_refund_does_not_happen_and_the_model_learns_it() -> None:
    with Gate() as gate:
        gate.decide_with(lambda held: held.capability == "agent_mail")
        assert "EffectRejected" in run(SupportModel(), "Refund order o_1")
    assert not tools.PAYMENTS.exists()
    assert tools.MAILS.read_text() == "ada@example.com: Your refund: we cannot refund it\n"


def test_an_agent_that_dies_and_starts_again_refunds_once() -> None:
    with Gate() as gate:
        gate.approve_all()
        gate.kill("after")
        with pytest.raises(Killed):
            run(SupportModel(), "Refund order o_1")
        assert run(SupportModel(), "Refund order o_1") == "refund: re_ch_1; mail: sent"
    assert len(json.loads(tools.PAYMENTS.read_text())) == 1
