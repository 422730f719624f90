"""Amounts as decimal text, currencies as codes of ISO 4217."""

from __future__ import annotations

import re
from typing import Any

# Those in use, and the ones that joined the euro since 2023: archives remember them.
_CODES = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLF CLP CNY COP
CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK
JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD
NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XAG XAU XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CURRENCIES = frozenset(_CODES.split())
# Signs of one currency only; $, ¥ and kr are those of several.
_SIGNS = {
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₴": "UAH",
    "₺": "TRY",
    "₪": "ILS",
    "₫": "VND",
    "zł": "PLN",
    "us$": "USD",
}

_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_AMOUNT = re.compile(r"(?<![\d.,])-?(?:\d[\d.,'’\u00a0\u202f ]*\d|\d)")
_LONGEST = 100


def amount(value: Any) -> str | None:
    """Decimal text (`1299.00`) of a number or of text with the signs of either habit (`1.299,00 €`, `$1,299`); None for none.

    One sign before exactly three digits groups when it is a comma or an apostrophe, since schema.org writes a point before
    decimals.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return f"{value:f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    text = str(value).strip()
    if len(text) > _LONGEST:
        return None
    if _PLAIN.fullmatch(text):
        return text
    found = _AMOUNT.findall(text)
    return decimal_text(found[0]) if len(found) == 1 else None


def is_plain(value: Any) -> bool:
    """Whether an amount is written as schema.org asks for: digits and a point."""
    return isinstance(value, (int, float)) or _PLAIN.fullmatch(str(value).strip()) is not None


def decimal_text(text: str, *, point_may_group: bool = False) -> str:
    """Digits with grouping and decimal signs of either habit as digits and a point. One sign before exactly three digits groups
    when it is a comma, or with `point_may_group` a point, unless a zero stands first."""
    digits = re.sub(r"['’\u00a0\u202f ]", "", text)
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return digits
    sign, tail = digits[last], digits[last + 1 :]
    other = "," if sign == "." else "."
    alone = len(tail) == 3 and other not in digits and not digits.lstrip("-").startswith("0")
    if digits.count(sign) > 1 or (alone and (sign == "," or point_may_group)):
        return re.sub(r"[.,]", "", digits)
    return re.sub(r"[.,]", "", digits[:last]) + (f".{tail}" if tail else "")


def currency(text: str) -> str | None:
    """The code that a text is or whose sign it is; None for what is neither."""
    text = text.strip()
    return code if (code := text.upper()) in CURRENCIES else _SIGNS.get(text.lower())


def currency_beside(text: str) -> str | None:
    """The one currency whose code or sign stands beside an amount, as in `12,50 EUR`; None for none, or several."""
    if len(text) > _LONGEST:
        return None
    found = {code for word in re.findall(r"[^\W\d_]+\$?|[€£₹₽₩₴₺₪₫]", text) if (code := currency(word))}
    return found.pop() if len(found) == 1 else None
