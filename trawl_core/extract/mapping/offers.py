"""Offers and ratings, which several of the five have."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from trawl_core.extract.mapping.money import amount, currency, currency_beside, is_plain
from trawl_core.extract.mapping.reader import ItemReader


def terms(names: str, **others: str) -> dict[str, str]:
    """Bare terms by their letters in lower case; `others` are spellings that stand for one of them."""
    return {name.lower(): name for name in names.split()} | others


AVAILABILITY = terms(
    "InStock OutOfStock PreOrder PreSale BackOrder SoldOut Discontinued InStoreOnly OnlineOnly LimitedAvailability MadeToOrder Reserved",
    oos="OutOfStock",
    available="InStock",
    unavailable="OutOfStock",
    outofstocks="OutOfStock",
    preorders="PreOrder",
)
CONDITION = terms(
    "NewCondition UsedCondition RefurbishedCondition DamagedCondition",
    new="NewCondition",
    used="UsedCondition",
    refurbished="RefurbishedCondition",
    damaged="DamagedCondition",
)
# Prices that are shown beside the one that is paid.
_NOT_PAID = ("listprice", "strikethroughprice", "msrp", "srp", "suggestedretailprice")


def offers(thing: ItemReader) -> list[dict[str, Any]]:
    """Each offer of `offers` with what it gives of price, price_high, currency, availability, condition, url, seller,
    valid_from and valid_until. A price that can't be read, or without a currency, is a problem."""
    return [offer for reader in thing.items("offers") for offer in _offers_of(reader)]


def sums_up(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """price, price_high, currency and availability over all offers: the least price of the first offer's currency, the
    greatest where they differ, and the first offer's availability unless another one is in stock."""
    priced = [offer for offer in found if "price" in offer]
    summary: dict[str, Any] = {}
    if priced:
        code = priced[0].get("currency")
        alike = [offer for offer in priced if offer.get("currency") == code]
        prices = sorted((price for offer in alike for price in (offer["price"], offer.get("price_high", offer["price"]))), key=Decimal)
        summary["price"] = prices[0]
        if Decimal(prices[-1]) != Decimal(prices[0]):
            summary["price_high"] = prices[-1]
        if code:
            summary["currency"] = code
    states = [offer["availability"] for offer in found if "availability" in offer]
    if states:
        summary["availability"] = "InStock" if "InStock" in states else states[0]
    return summary


def _offers_of(reader: ItemReader) -> list[dict[str, Any]]:
    parts = [part for inner in reader.items("offers") for part in _offers_of(inner)]
    if parts and reader.text("lowPrice", "price") is None:
        return parts
    found: dict[str, Any] = {}
    _price(reader, found)
    given = {
        "availability": reader.term("availability", AVAILABILITY),
        "condition": reader.term("itemCondition", CONDITION),
        "url": reader.url("url"),
        "seller": reader.text("seller", "offeredBy"),
        "valid_from": reader.date("validFrom"),
        "valid_until": reader.date("priceValidUntil") or reader.date("validThrough"),
    }
    found.update({name: value for name, value in given.items() if value is not None})
    return [found]


def _price(reader: ItemReader, found: dict[str, Any]) -> None:
    name, source = _price_place(reader)
    if source is None:
        reader.problem("price", "missing")
        return
    text = source.text(name) or ""
    price = _amount(source, name)
    if price is None:
        return
    found["price"] = price
    if name == "lowPrice" and source.text("highPrice") and (high := _amount(source, "highPrice")) is not None:
        found["price_high"] = high
    given = source.text("priceCurrency") or reader.text("priceCurrency")
    code = currency(given) if given else currency_beside(text)
    if code:
        found["currency"] = code
    else:
        reader.problem("priceCurrency", f"{given[:40]!r} is no ISO 4217 code" if given else "missing")


def _price_place(reader: ItemReader) -> tuple[str, ItemReader | None]:
    """The property that has the price, and the item that has the property."""
    for name in ("price", "lowPrice"):
        if reader.text(name):
            return name, reader
    specifications = [one for one in reader.items("priceSpecification") if one.text("price", "minPrice")]
    paid = [one for one in specifications if (one.text("priceType") or "").rpartition("/")[2].lower() not in _NOT_PAID]
    for one in paid or specifications:
        return "price" if one.text("price") else "minPrice", one
    return "highPrice", reader if reader.text("highPrice") else None


def _amount(source: ItemReader, name: str) -> str | None:
    """The first value as a decimal; what is none, or written with signs and groups, is a problem."""
    value = source.values(name)[0]
    value = value if isinstance(value, (int, float)) else source.text(name)
    found = amount(value)
    if found is None or found.startswith("-"):
        source.problem(name, f"{str(value)[:40]!r} is no price")
        return None
    if not is_plain(value):
        source.problem(name, f"{str(value)[:40]!r} is no plain number, read as {found}")
    return found


def rating(thing: ItemReader) -> dict[str, Any]:
    """rating_value, rating_best and rating_worst (5 and 1 where the page says nothing, as schema.org has it), rating_count
    and review_count of `aggregateRating`; empty without one. A value outside its scale is a problem."""
    readers = thing.items("aggregateRating")
    if not readers:
        return {}
    reader = readers[0]
    found: dict[str, Any] = {}
    text = reader.text("ratingValue")
    over = text.partition("/") if text and "/" in text else None
    value = _of_text(over[0]) if over else reader.number("ratingValue")
    best = reader.number("bestRating") if reader.text("bestRating") else (_of_text(over[2]) if over else None) or 5
    worst = reader.number("worstRating") if reader.text("worstRating") else min(1, best) if best is not None else 1
    if value is None:
        if text is None:
            reader.problem("ratingValue", "missing")
    else:
        found |= {"rating_value": value, "rating_best": best, "rating_worst": worst}
        if best is not None and worst is not None and not worst <= value <= best:
            reader.problem("ratingValue", f"{value} lies outside the scale {worst} to {best}")
    for name, target in (("ratingCount", "rating_count"), ("reviewCount", "review_count")):
        if (count := reader.count(name)) is not None:
            found[target] = count
    return {name: value for name, value in found.items() if value is not None}


def _of_text(text: str) -> int | float | None:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return int(value) if value.is_integer() else value
