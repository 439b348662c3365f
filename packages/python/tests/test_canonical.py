import math
from typing import Any

import pytest

from holdpoint import canonical_json
from holdpoint.canonical import parse_json
from holdpoint.requests import Unsafe, check_numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"),
        (-0.0, "0"),
        (1e20, "100000000000000000000"),
        (10**20, "100000000000000000000"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (123456789012345680000, "123456789012345680000"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-9, "1.5e-9"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740993, "9007199254740992"),
        (333333333.33333329, "333333333.3333333"),
        (True, "true"),
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'),
        ("\u2028\x0f", '"\u2028\\u000f"'),
    ],
)
def test_numbers_and_texts_are_those_of_javascript(value: Any, text: str) -> None:
    assert canonical_json(value).decode() == text


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", {1: 2}, object(), 10**400])
def test_values_outside_json_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r".*"):
        canonical_json(value)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", "[" * 100_000])
def test_texts_outside_json_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_json(text)


def test_an_integer_that_would_lose_digits_is_refused() -> None:
    check_numbers({"a": [2**53 - 1, True]})
    with pytest.raises(Unsafe, match="loses digits"):
        check_numbers({"a": [2**53]})
