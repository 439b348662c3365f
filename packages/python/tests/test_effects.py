from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from holdpoint import AsyncEffect, Effect, effect
from holdpoint.models import HeldEffect
from holdpoint.schema import NotJson
from holdpoint.testing import Gate


class Refund(BaseModel):
    id: str
    day: date


@dataclass
class Charge:
    id: str
    cents: int = 1


@effect("refund", key=lambda charge: f"refund:{charge.id}", risk="high", effect_class="keyed", timeout=5)
def refund(charge: Charge, day: date = date(2026, 1, 1), *, note: str | None = None) -> Refund:
    """Pays a charge back."""
    return Refund(id=charge.id, day=day)


def test_a_definition_follows_from_the_function() -> None:
    definition = refund.definition
    assert (definition.name, definition.risk, definition.effect_class) == ("refund", "high", "keyed")
    assert definition.title == "refund(charge=${charge}, day=${day}, note=${note})"
    assert definition.description == "Pays a charge back."
    assert definition.timeout_ms == 5_000
    assert list(definition.input["properties"]) == ["charge", "day", "note"]
    assert definition.input["required"] == ["charge"]
    assert definition.input["additionalProperties"] is False
    assert definition.output is not None
    assert set(definition.output["properties"]) == {"id", "day"}
    assert "timeoutMs" in definition.body()
    assert "preview" not in definition.body()


def test_a_function_keeps_its_name_and_its_text() -> None:
    assert (refund.__name__, refund.__doc__) == ("refund", "Pays a charge back.")


def test_arguments_become_json_and_come_back() -> None:
    values, key = refund.request((Charge("ch_1"),), {"note": "n"})
    assert values == {"charge": {"id": "ch_1", "cents": 1}, "day": "2026-01-01", "note": "n"}
    assert key == "refund:ch_1"
    back = refund.arguments.from_json(values)
    assert back == {"charge": Charge("ch_1"), "day": date(2026, 1, 1), "note": "n"}


def test_arguments_that_do_not_fit_are_refused_before_a_request(gate: Gate) -> None:
    with pytest.raises(ValidationError):
        refund.hold(charge="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        refund.hold()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        refund.hold(Charge("x"), colour="red")  # type: ignore[call-arg]
    assert gate.pending == []


@pytest.mark.parametrize(
    ("hint", "value", "outputs"),
    [
        (str, "re_1", {"result": "re_1"}),
        (int | None, None, {"result": None}),
        (list[date], [date(2026, 1, 1)], {"result": ["2026-01-01"]}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Charge, Charge("c", 2), {"id": "c", "cents": 2}),
        (None, None, {}),
        (Any, [1], {"result": [1]}),
    ],
)
def test_outputs_become_an_object_and_come_back(hint: Any, value: Any, outputs: dict[str, Any]) -> None:
    def run() -> Any:
        return value

    run.__annotations__["return"] = hint
    made = effect("run", key=lambda: "k")(run)
    assert made.outputs.to_json(value) == outputs
    held = HeldEffect(id="t", effect="e", capability="run", key="k", state="applied", outputs=outputs)
    assert made.result_of(held) == value


def test_a_function_without_named_arguments_is_refused() -> None:
    with pytest.raises(NotJson, match="give each argument a name"):
        effect("run", key=lambda: "k")(lambda *args: None)


def test_an_argument_without_a_json_form_is_refused() -> None:
    def run(connection: Gate) -> None: ...

    with pytest.raises(NotJson, match="no JSON form"):
        effect("run", key=lambda: "k")(run)


def test_a_key_of_an_unknown_argument_is_refused() -> None:
    def run(a: int) -> None: ...

    with pytest.raises(TypeError, match="no argument of the function"):
        effect("run", key=lambda b: f"run:{b}")(run)


def test_a_coroutine_function_becomes_an_asynchronous_effect() -> None:
    @effect("later", key=lambda a: f"{a}")
    async def later(a: int) -> int:
        return a

    assert isinstance(later, AsyncEffect)
    assert isinstance(refund, Effect)


def test_options_do_not_change_the_effect_itself(gate: Gate) -> None:
    held = refund.with_options(reason="a customer asks", pool="p").hold(Charge("ch_9"))
    assert held.state.state == "waiting"
    assert vars(refund._options)["reason"] is None


def test_a_hold_that_is_never_awaited_warns() -> None:
    @effect("later", key=lambda a: f"{a}")
    async def later(a: int) -> int:
        return a

    with pytest.warns(RuntimeWarning, match="never awaited"):
        later.hold(1)
