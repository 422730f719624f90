"""robots.txt (RFC 9309): which group of rules is ours, and what it allows.

protego matches the paths. The group is chosen here, as section 2.2.1 and Google's parser have it: the whole product
token is compared, groups of one token are one group, and only rules end a list of user-agent lines.
"""

from __future__ import annotations

import math
import re
from typing import Literal
from urllib.parse import quote

from protego import Protego

MAX_BYTES = 500 * 1024
# As much is fetched and kept as the parser reads, and a little more, so that it sees that the file was cut.
MAX_KEPT_BYTES = MAX_BYTES + 1024
# Google's parser keeps this much of a line (eight times the longest URL a browser takes).
MAX_LINE_BYTES = 2083 * 8 - 1

_LINE_END = re.compile(rb"\r\n|\r|\n")
_TOKEN = re.compile(r"[A-Za-z_-]+")
_KEYS = {
    "agent": ("user-agent", "useragent", "user agent"),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "allow": ("allow",),
    "sitemap": ("sitemap", "sitemaps", "site-map"),
    "crawl-delay": ("crawl-delay", "crawl delay"),
}
# Characters at which protego, splitting text into lines, would end one; a rule has them escaped.
_FALSE_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def robots_verdict(status: int | None) -> Literal["parse", "allow", "unavailable"]:
    """What an answer to /robots.txt means (section 2.3.1); `status` is the last hop's, None when no answer came.

    `unavailable` means that nothing may be fetched for now; 429 counts as such, since it says "later", not "no rules",
    and 304, since nobody asked whether it was modified. A redirect that led nowhere (3xx) is like a missing file.
    """
    if status is None or status < 200 or status in (304, 429) or status >= 500:
        return "unavailable"
    return "parse" if 200 <= status < 300 else "allow"


class RobotsRules:
    """The rules that hold for one product token.

    `crawl_delay_s` is what the file asks for, uncapped, None when it doesn't; `sitemaps` are its values as written, in
    order, each once.
    """

    def __init__(self, rules: list[str], crawl_delay_s: float | None, sitemaps: tuple[str, ...]) -> None:
        self._matcher = Protego.parse("\n".join(["User-agent: *", *rules]))
        self.crawl_delay_s = crawl_delay_s
        self.sitemaps = sitemaps

    @classmethod
    def parse(cls, body: bytes, product_token: str) -> RobotsRules:
        """Rules of a decoded body for a product token like `TrawlBot` (never a whole user-agent string); any bytes will do."""
        return _select(body, product_token)

    @classmethod
    def allow_all(cls) -> RobotsRules:
        return cls([], None, ())

    @classmethod
    def disallow_all(cls) -> RobotsRules:
        return cls(["Disallow: /"], None, ())

    def allowed(self, url: str) -> bool:
        """/robots.txt itself is always allowed."""
        return self._matcher.can_fetch(url, "*")


class _Group:
    """Rules gathered for our token, or for `*`."""

    def __init__(self) -> None:
        self.seen = False
        self.open = False
        self.rules: list[str] = []
        self.crawl_delays: list[float] = []


def _select(body: bytes, product_token: str) -> RobotsRules:
    ours, everyone = _Group(), _Group()
    sitemaps: list[str] = []
    rules_since_agent = False
    for line in _lines(body):
        key, value = _field(line)
        if key == "agent":
            if rules_since_agent:
                ours.open = everyone.open = rules_since_agent = False
            group = _group_of(value, product_token, ours, everyone)
            if group is not None:
                group.seen = group.open = True
        elif key in ("allow", "disallow"):
            rules_since_agent = True
            for group in (ours, everyone):
                if group.open and value:
                    group.rules.append(f"{key}: {_FALSE_LINE_ENDS.sub(lambda match: quote(match[0]), value)}")
        elif key == "crawl-delay":
            if (delay_s := _delay_s(value)) is not None:
                for group in (ours, everyone):
                    if group.open:
                        group.crawl_delays.append(delay_s)
        elif key == "sitemap" and value:
            sitemaps.append(value)
    chosen = ours if ours.seen else everyone
    return RobotsRules(chosen.rules, max(chosen.crawl_delays, default=None), tuple(dict.fromkeys(sitemaps)))


def _lines(body: bytes) -> list[str]:
    whole = body
    for mark, codec in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        # An editor's accident, and its rules are meant all the same.
        if whole.startswith(mark):
            whole = whole[len(mark) :].decode(codec, "replace").encode()
    for bom in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        if whole.startswith(bom):
            whole = whole[len(bom) :]
            break
    lines = _LINE_END.split(whole[:MAX_BYTES])
    if len(whole) > MAX_BYTES:
        # The line that the limit cuts could say the opposite of what was meant.
        lines.pop()
    return [line[:MAX_LINE_BYTES].decode("utf-8", "replace") for line in lines]


def _field(line: str) -> tuple[str | None, str]:
    """(kind of line, value); kind is None for a comment, an empty line or a key that says nothing to us."""
    text = line.partition("#")[0].strip()
    name, colon, value = text.partition(":")
    name = name.strip().lower()
    if colon and (kind := _kind(name)):
        return kind, value.strip()
    # `Disallow /x` and `Sitemap https://…`: the colon was forgotten.
    words = text.split(maxsplit=1)
    if len(words) == 2 and (kind := _kind(words[0].lower())):
        return kind, words[1].strip()
    return None, ""


def _kind(name: str) -> str | None:
    return next((kind for kind, spellings in _KEYS.items() if name in spellings), None)


def _group_of(value: str, product_token: str, ours: _Group, everyone: _Group) -> _Group | None:
    if value == "*" or re.match(r"\*\s", value):
        return everyone
    match = _TOKEN.match(value)
    return ours if match and match[0].lower() == product_token.lower() else None


def _delay_s(value: str) -> float | None:
    try:
        delay_s = float(value)
    except ValueError:
        return None
    return delay_s if math.isfinite(delay_s) and delay_s >= 0 else None
