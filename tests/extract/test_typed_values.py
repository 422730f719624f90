import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.typed_values import Mismatch, typed_value
from trawl_core.sites import Selector

URL = "https://shop.test/dir/"
TYPES = Selector.model_fields["type"].annotation.__args__


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (" a\n b ", "str", "a b"),
        (" a\n b ", "text", "a b"),
        ("<b>a</b> ", "html", "<b>a</b> "),
        ("1.299 pieces", "int", 1299),
        ("12,00", "int", 12),
        ("-3", "int", -3),
        ("3", "float", 3.0),
        ("3,50 €", "float", 3.5),
        ("3,50 €", "number", 3.5),
        ("3,00 €", "number", 3),
        ("3,50 €", "decimal", "3.50"),
        ("0.1000000000000000000001", "decimal", "0.1000000000000000000001"),
        ("Yes", "bool", True),
        ("", "bool", True),
        ("0", "bool", False),
        ("since 2024-05-06T10:00Z", "date", "2024-05-06"),
        ("6 May 2024", "date", "2024-05-06"),
        ("2024-05-06T10:00:00+02:00", "datetime", "2024-05-06T10:00:00+02:00"),
        (" ../t#x ", "url", "https://shop.test/t"),
    ],
)
def test_values_of_each_type(text, kind, value):
    found = typed_value(text, kind, URL)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "kind"),
    [("x", "int"), ("1.5", "int"), ("x", "float"), ("", "decimal"), ("9" * 101, "number"), ("maybe", "bool"), ("2024-13-01", "date"), ("2024", "date"), ("soon", "datetime"), ("mailto:x", "url")],
)  # fmt: skip
def test_what_is_not_of_its_type_is_said(text, kind):
    with pytest.raises(Mismatch):
        typed_value(text, kind, URL)


@given(st.text(max_size=60) | st.text(alphabet="0123456789.,-' ", max_size=40), st.sampled_from(TYPES))
def test_any_text_is_a_value_or_a_mismatch(text, kind):
    try:
        json.dumps(typed_value(text, kind, URL), allow_nan=False)
    except Mismatch as error:
        assert str(error)
