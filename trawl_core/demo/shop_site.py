"""A shop with about 40 products in JSON-LD, a JSON file, and a calendar of events that never ends.

Night 1: one price rises where everyone sees it, one product changes in its JSON-LD only, two products are new, one has
moved, one is gone.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass

from trawl_core.demo.calendar_pages import calendar_page
from trawl_core.demo.content import Answer, SiteContent, missing_page, redirect
from trawl_core.demo.entries import read_entries
from trawl_core.demo.pages import Layout, edition, links_list

CATEGORIES = {"kitchen": "Kitchen", "light": "Light", "living": "Living", "garden": "Garden", "desk": "Desk"}
NAV = (*((f"/category/{slug}", label) for slug, label in CATEGORIES.items()), ("/events/2026/11", "Events"), ("/api/products.json", "JSON"))
CALENDAR = re.compile(r"^/events/(\d{4})/(\d\d)$")

RAISED = {"kettle-arno": "71.00"}
SOLD_OUT = {"lamp-sola"}
"""Products whose availability changes in the JSON-LD and nowhere else."""
MOVED = {"/product/twine-hamp": "/product/twine-hamp-natural"}
GONE = {"/product/candle-havn": 410}
BROKEN_JSON_LD = "/product/knife-tanne"


@dataclass(frozen=True)
class Product:
    slug: str
    name: str
    category: str
    price: str
    words: str

    @property
    def path(self) -> str:
        return f"/product/{self.slug}"

    @property
    def basket_path(self) -> str:
        """Closed by robots.txt."""
        return f"/basket/add?sku={self.slug}"


def build_shop(night: int) -> SiteContent:
    tonight = _answers(night)
    return SiteContent("shop", night, edition(night, tonight, _answers(0) if night else {}), endless=_calendar)


def products_of(night: int) -> list[Product]:
    rows = [Product(*entry.fields) for entry in read_entries("shop_products", night)]
    if not night:
        return rows
    kept = [_tonight(product) for product in rows if product.path not in GONE]
    return kept + [Product(*entry.fields) for entry in read_entries("shop_new", night)]


def _tonight(product: Product) -> Product:
    slug = MOVED.get(product.path, product.path).rsplit("/", 1)[-1]
    return Product(slug, product.name, product.category, RAISED.get(product.slug, product.price), product.words)


def _answers(night: int) -> dict[str, Answer]:
    products = products_of(night)
    answers = {product.path: _product_page(product, products, night) for product in products}
    for slug, label in CATEGORIES.items():
        rows = [(product.path, product.name, f"{product.price} EUR") for product in products if product.category == slug]
        main = f"<h1>{label}</h1>\n<p>{len(rows)} things for {label.lower()}, each made to be repaired.</p>\n{links_list(rows)}"
        answers[f"/category/{slug}"] = _answer(LAYOUT.page(label, main))
    answers["/"] = _answer(LAYOUT.page("Hearth & Holm", _home(products)))
    rows = [{"sku": product.slug, "name": product.name, "price": float(product.price), "currency": "EUR"} for product in products]
    answers["/api/products.json"] = Answer(
        content_type="application/json", body=json.dumps({"products": rows}, indent=1).encode(), chunked=True
    )
    answers["/robots.txt"] = Answer(content_type="text/plain", body=b"User-agent: *\nDisallow: /basket\n")
    if night:
        answers |= {old: redirect(new, 308) for old, new in MOVED.items()}
        answers |= {path: missing_page(status, "We no longer make this.") for path, status in GONE.items()}
    return answers


LAYOUT = Layout("Hearth & Holm", NAV, motto="A shop that sells nothing: everything here is invented.")


def _answer(page: str) -> Answer:
    return Answer(body=page.encode(), validators="etag")


def _product_page(product: Product, products: list[Product], night: int) -> Answer:
    facts = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": product.name,
        "sku": product.slug,
        "description": product.words,
        "offers": {
            "@type": "Offer",
            "price": product.price,
            "priceCurrency": "EUR",
            "availability": f"https://schema.org/{'OutOfStock' if night and product.slug in SOLD_OUT else 'InStock'}",
        },
    }
    head = _json_ld(json.dumps(facts, indent=1))
    if product.path == BROKEN_JSON_LD:
        head = _json_ld('{"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem",') + head
    near = _neighbours(product, products)
    main = f"""<h1>{html.escape(product.name)}</h1>
<p>{html.escape(product.words)}</p>
<p>Price: {product.price} EUR, with postage inside the country.</p>
<p><a href="{product.basket_path}" rel="nofollow">Put into the basket</a></p>"""
    aside = "<p>From the same shelf</p>" + links_list([(other.path, other.name, "") for other in near])
    validators = "last_modified" if product.category == "garden" else "none" if product.category == "desk" else "both"
    page = LAYOUT.page(product.name, main, head=head, kind="product", aside=aside)
    return Answer(body=page.encode(), gzip=product.category == "living", validators=validators)


def _neighbours(product: Product, products: list[Product]) -> list[Product]:
    """Two products of the same category, the same two on both nights."""
    lasting = {f"/product/{entry.fields[0]}" for entry in read_entries("shop_products", 0)} - MOVED.keys() - GONE.keys()
    others = sorted((other for other in products if other.path in lasting and other.name != product.name), key=lambda other: other.slug)
    shelf = [other for other in others if other.category == product.category] or others
    start = sum(map(ord, product.name)) % len(shelf)
    return [shelf[start], shelf[(start + 1) % len(shelf)]] if len(shelf) > 1 else shelf


def _json_ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>\n'


def _home(products: list[Product]) -> str:
    rows = [
        (f"/category/{slug}", label, f"{sum(product.category == slug for product in products)} products")
        for slug, label in CATEGORIES.items()
    ]
    return f"""<h1>Hearth &amp; Holm</h1>
<p>Things for the house that can be taken apart, repaired and handed on. We write down who made each of them and sell the spare parts.</p>
{links_list(rows)}
<p>Meet us at <a href="/events/2026/11">markets and open workshops</a>,
or read the whole catalogue as <a href="/api/products.json">JSON</a>.</p>"""


def _calendar(path: str) -> Answer | None:
    """Any month of any year has a page with links to the months around it."""
    if not (match := CALENDAR.match(path)) or not 1 <= int(match[2]) <= 12:
        return None
    title, main = calendar_page(int(match[1]), int(match[2]))
    return _answer(LAYOUT.page(title, main))
