"""Which encoding a document is in, and its text.

The order of the HTML standard (https://html.spec.whatwg.org/#determining-the-character-encoding): byte order mark,
Content-Type, meta in the first 1,024 bytes, XML declaration; then detection. A declaration that the bytes contradict is
noticed: UTF-8 that isn't valid, a legacy encoding whose bytes are valid multi-byte UTF-8, one that can't decode them, and one
whose text no language writes; then the next declaration is asked, and detection. UTF-8 that was encoded twice is undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from resiliparse.parse.encoding import detect_encoding

from trawl_core.extract.encodings import decode_as, encoding_name, is_multibyte, name_of_codec, text_decoder
from trawl_core.extract.mojibake import is_latin, looks_garbled, undo_twice_encoded

Source = Literal["bom", "header", "meta", "xml", "detected", "default", "repaired"]

PRESCAN_BYTES = 1024
_LATE_META_BYTES = 128 * 1024
_SAMPLE_BYTES = 512 * 1024
# Declared UTF-8 with a few damaged characters is UTF-8 all the same: up to this share of its multi-byte characters.
_DAMAGED_SHARE = 0.1

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_XML = re.compile(rb"^<\?xml\s[^>]*?encoding\s*=\s*(?:\"([^\">]{1,64})\"|'([^'>]{1,64})')")
_MARKUP = re.compile(rb"<!--.*?(?:-->|\Z)|<meta(?=[\s/])|</?[a-z]|<[!/?][^>]*>?", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(rb"[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"'][^\s>]*)))?")
_CHARSET_IN_CONTENT = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_HIGH_BYTES = bytes(range(0x80, 0x100))
_LEAD_BYTES = bytes(range(0xC2, 0xF5))
"""Bytes that a multi-byte character of UTF-8 begins with."""


@dataclass(frozen=True)
class Decoded:
    """`charset` is the WHATWG name of the encoding, `source` where it came from; `text` has no byte order mark.

    `detected` is also the source where the bytes contradict what is declared; `repaired` that of UTF-8 encoded twice.
    """

    text: str
    charset: str
    source: Source


def decode(body: bytes, declared: str | None, *, markup: bool = True) -> Decoded:
    """Text of `body`; never fails, bytes that mean nothing become U+FFFD.

    `declared` is the charset parameter of Content-Type. `markup=False` looks for neither meta nor XML declaration, for
    documents in which such a string would be content.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _repaired(body[len(mark) :], Decoded(decode_as(body[len(mark) :], name)[0], name, "bom"))
    if name := _utf16_by_zeros(body[:PRESCAN_BYTES]):
        return Decoded(decode_as(body, name)[0], name, "xml" if body[:10].replace(b"\x00", b"") == b"<?xml" else "detected")
    if declared and (name := encoding_name(declared)):
        return _repaired(body, _declared(body, name, "header", markup))
    if markup:
        if name := meta_charset(body[:PRESCAN_BYTES]):
            return _repaired(body, _declared(body, name, "meta", markup))
        if name := xml_charset(body):
            return _repaired(body, _declared(body, name, "xml", markup))
    return _repaired(body, _undeclared(body, markup))


def decode_pieces(document: Iterable[bytes | memoryview], declared: str | None) -> Iterator[str]:
    """The text of a long document that comes in pieces; its first half megabyte decides on the encoding."""
    pieces = iter(document)
    sample = bytearray()
    for piece in pieces:
        sample += piece
        if len(sample) >= _SAMPLE_BYTES:
            break
    text_of = text_decoder(decode(bytes(sample), declared).charset)  # of a long document nothing is repaired
    yield text_of(bytes(sample)).removeprefix("\ufeff")
    del sample
    for piece in pieces:
        yield text_of(bytes(piece))


def charset_parameter(content_type: str | None) -> str | None:
    """The charset parameter of a Content-Type value as sent; None without one."""
    if not content_type:
        return None
    match = _CHARSET_IN_CONTENT.search(content_type.encode("utf-8", "replace"))
    return _first_group(match) if match else None


def meta_charset(head: bytes) -> str | None:
    """WHATWG name that a meta element in `head` declares, by the standard's prescan; None when none does."""
    at = 0
    while match := _MARKUP.search(head, at):
        token = match.group().lower()
        at = match.end()
        if token == b"<meta":
            attributes, at = _attributes(head, at)
            if name := _meta_encoding(attributes):
                return name
        elif not token.startswith((b"<!", b"<?")) and token[-1:].isalpha():
            tag_name_end = re.compile(rb"[\s/>]").search(head, at)
            if tag_name_end is None:
                return None
            at = _attributes(head, tag_name_end.start())[1]
    return None


def xml_charset(body: bytes) -> str | None:
    """WHATWG name by the XML declaration, or by its bytes where it is UTF-16 without a byte order mark; None without one."""
    if body.startswith(b"<\x00?\x00x\x00"):
        return "utf-16le"
    if body.startswith(b"\x00<\x00?\x00x"):
        return "utf-16be"
    match = _XML.match(body[:PRESCAN_BYTES])
    name = encoding_name(_first_group(match)) if match else None
    return _no_utf16(name)


def _utf16_by_zeros(head: bytes) -> str | None:
    """UTF-16 without a byte order mark, by the zeros that every other byte of markup is; None for anything else."""
    if b"\x00" not in head[:2] or len(head) < 8:
        return None
    even, odd = head[::2].count(0) * 2 / len(head), head[1::2].count(0) * 2 / len(head)
    if min(even, odd) > 0.1 or max(even, odd) < 0.5:
        return None
    return "utf-16be" if even > odd else "utf-16le"


def _attributes(data: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Attributes of the tag whose name ends at `at` (the first of a name wins), and the place behind the tag."""
    found: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(data, at):
        found.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
        at = match.end()
    end = data.find(b">", at)
    return found, len(data) if end < 0 else end + 1


def _meta_encoding(attributes: dict[bytes, bytes]) -> str | None:
    label = None
    if b"charset" in attributes:
        label = attributes[b"charset"].decode("latin-1")
    elif attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CHARSET_IN_CONTENT.search(attributes.get(b"content", b""))
        label = _first_group(match) if match else None
    name = encoding_name(label) if label else None
    return _no_utf16(name)


def _no_utf16(name: str | None) -> str | None:
    """A declaration that could be read as ASCII can't be in UTF-16: the standard takes it as UTF-8."""
    return "utf-8" if name in ("utf-16le", "utf-16be") else name


def _first_group(match: re.Match[bytes]) -> str:
    return next((group for group in match.groups() if group is not None), b"").decode("latin-1").strip()


def _repaired(body: bytes, decoded: Decoded) -> Decoded:
    """`decoded`, or what stands behind UTF-8 that was encoded twice."""
    if decoded.charset != "utf-8" or decoded.text.isascii() or (text := undo_twice_encoded(body)) is None:
        return decoded
    return Decoded(text, "utf-8", "repaired")


def _declared(body: bytes, name: str, source: Source, markup: bool) -> Decoded:
    text, faults = decode_as(body, name)
    if name == "utf-8":
        characters = _count(body, _LEAD_BYTES) if faults else 0
        if faults <= characters * _DAMAGED_SHARE:
            return Decoded(text, name, source)
        return _other_than(body, name, markup)
    if name.startswith("utf-16"):
        zeros = body.count(b"\x00")
        if faults == 0 and (zeros or not _is_utf8(body)):
            return Decoded(text, name, source)
        return _other_than(body, name, markup)
    if not body.isascii() and _is_utf8(body) and (not is_multibyte(name) or faults or _detector_says_utf8(body)):
        return Decoded(decode_as(body, "utf-8")[0], "utf-8", "detected")
    wrong = looks_garbled(text, name) or (faults and faults > _count(body, _HIGH_BYTES) * _DAMAGED_SHARE)
    if wrong and (better := _other_than(body, name, markup)).source == "detected":
        return better
    if source == "header" and name == "windows-1252" and markup and not body.isascii():
        # Servers add ISO-8859-1 to all they send: where the page says otherwise, the bytes decide between the two.
        meta = meta_charset(body[:PRESCAN_BYTES])
        if meta and meta != name and meta == _name_by_detector(body):
            return Decoded(decode_as(body, meta)[0], meta, "detected")
    return Decoded(text, name, source)


def _other_than(body: bytes, declared: str, markup: bool) -> Decoded:
    """What the bytes are that contradict `declared`: what a meta says that they do not contradict, else what they look like.

    A single-byte encoding fits any bytes, so one of the declared one's own kind is no better a guess; the source is then `default`.
    """
    name = meta_charset(body[:_LATE_META_BYTES]) if markup else None
    if name and name != declared:
        text, faults = decode_as(body, name)
        if not faults and not looks_garbled(text, name):
            return Decoded(text, name, "detected")
    found = _detected(body)
    if found.charset == declared or (is_latin(declared) and is_latin(found.charset)):
        return Decoded(found.text, found.charset, "default")
    return found


def _undeclared(body: bytes, markup: bool) -> Decoded:
    if body.isascii() and b"\x1b" not in body:
        return Decoded(body.decode("ascii"), "utf-8", "default")
    if not _is_utf8(body) and markup and (late := meta_charset(body[:_LATE_META_BYTES])):
        # Too late for the standard's prescan, but a better witness than statistics where the bytes agree.
        text, faults = decode_as(body, late)
        if not faults:
            return Decoded(text, late, "detected")
    return _detected(body)


def _detected(body: bytes) -> Decoded:
    if _is_utf8(body) and b"\x1b" not in body:
        return Decoded(decode_as(body, "utf-8")[0], "utf-8", "detected")
    name = _name_by_detector(body)
    if name and name != "utf-8":
        text, faults = decode_as(body, name)
        if faults <= len(body) * 0.01:
            return Decoded(text, name, "detected")
    text, faults = decode_as(body, "utf-8")
    if faults <= _count(body, _LEAD_BYTES) * _DAMAGED_SHARE:
        return Decoded(text, "utf-8", "detected")
    return Decoded(decode_as(body, "windows-1252")[0], "windows-1252", "default")


def _name_by_detector(body: bytes) -> str | None:
    name = name_of_codec(detect_encoding(body))
    if name != "utf-8":
        return name
    # That is also what it says where it knows no label of the standard for what it found.
    found = detect_encoding(body, html5_compatible=False)
    name = name_of_codec(found) if found else None
    return name if name and encoding_name(name) else None


def _count(body: bytes, wanted: bytes) -> int:
    """How many of the `wanted` bytes there are, without a list of them: bodies are up to a hundred megabytes."""
    return len(body) - len(body.translate(None, wanted))


def _is_utf8(body: bytes) -> bool:
    return decode_as(body, "utf-8")[1] == 0


def _detector_says_utf8(body: bytes) -> bool:
    return detect_encoding(body) == "utf-8"
