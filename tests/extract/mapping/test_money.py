from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.mapping.money import amount, currency, currency_beside


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1299.00", "1299.00"),
        (" 19.90 ", "19.90"),
        (1299, "1299"),
        (19.9, "19.9"),
        (1e-3, "0.001"),
        ("1.299,00 €", "1299.00"),
        ("$1,299.00", "1299.00"),
        ("1,299", "1299"),
        ("1.299", "1.299"),
        ("1,50", "1.50"),
        ("0,125 €", "0.125"),
        ("1 299,50 kr", "1299.50"),
        ("1'299.50 CHF", "1299.50"),
        ("1.234.567", "1234567"),
        ("EUR 12", "12"),
        ("12 - 15 EUR", None),
        ("free", None),
        ("", None),
        (True, None),
        ("9" * 200, None),
    ],
)
def test_amounts(value, expected):
    assert amount(value) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [("EUR", "EUR"), ("eur", "EUR"), (" € ", "EUR"), ("zł", "PLN"), ("US$", "USD"), ("$", None), ("XXX", None), ("", None)],
)
def test_currencies(text, code):
    assert currency(text) == code


@pytest.mark.parametrize(("text", "code"), [("12,50 €", "EUR"), ("GBP 3", "GBP"), ("$3", None), ("3 EUR or 4 USD", None), ("12", None)])
def test_a_currency_beside_its_amount(text, code):
    assert currency_beside(text) == code


@given(
    st.text(alphabet="0123456789.,' -€$", max_size=30) | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)
)
def test_what_is_an_amount_is_a_decimal(value):
    found = amount(value)
    assert found is None or Decimal(found).is_finite()
