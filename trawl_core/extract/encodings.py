"""WHATWG encoding labels and names, and the Python codecs that decode them.

Source: https://encoding.spec.whatwg.org/#names-and-labels. A label chooses a name (`latin1` means `windows-1252`, `gb2312`
means `gbk`); labels that the standard sends to `replacement`, and labels it does not know, choose nothing.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable

from resiliparse.parse.encoding import map_encoding_to_html5

# Names whose Python codec has another name, or where the standard's table is that of a wider Python codec.
_CODECS = {
    "utf-8": "utf-8",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "shift_jis": "cp932",
    "gbk": "gb18030",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "iso-8859-8-i": "iso-8859-8",
    "windows-874": "cp874",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
}
# Names by the codec that resiliparse gives for a label.
_NAMES = {
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "euc_kr": "euc-kr",
    "euc_jp": "euc-jp",
    "iso2022_jp": "iso-2022-jp",
    "koi8_r": "koi8-r",
    "koi8_u": "koi8-u",
    "mac-roman": "macintosh",
    "mac_roman": "macintosh",
    "cp866": "ibm866",
    "iso8859-11": "windows-874",
    "tis-620": "windows-874",
    "cp949": "euc-kr",
    "mac-cyrillic": "x-mac-cyrillic",
    "ascii": "windows-1252",
}
_UNKNOWN_TO_RESILIPARSE = {
    # Its own table is for binary data in scripts; documents that claim it are read as the HTML standard's prescan does.
    "x-user-defined": "windows-1252",
    "x-mac-cyrillic": "x-mac-cyrillic",
    "x-mac-ukrainian": "x-mac-cyrillic",
    "iso-8859-8-i": "iso-8859-8-i",
    "csiso88598i": "iso-8859-8-i",
    "logical": "iso-8859-8-i",
}


def encoding_name(label: str) -> str | None:
    """The WHATWG name for a label as servers and pages write it; None when no encoding has that label."""
    wanted = label.strip(" \t\n\f\r\"'").lower()
    if wanted in _UNKNOWN_TO_RESILIPARSE:
        return _UNKNOWN_TO_RESILIPARSE[wanted]
    codec = map_encoding_to_html5(wanted, fallback_utf8=False) if wanted and wanted.isascii() else None
    return name_of_codec(codec) if codec else None


def name_of_codec(codec: str) -> str | None:
    """The WHATWG name for a codec as resiliparse names it; None when Python can't decode it."""
    low = codec.lower()
    if low in _NAMES:
        name = _NAMES[low]
    elif low.startswith("cp125"):
        name = "windows-" + low[2:]
    elif low.startswith("iso8859"):
        name = "iso-8859-" + low[7:].lstrip("-_")
    else:
        name = low
    try:
        codecs.lookup(_CODECS.get(name, name))
    except LookupError:
        return None
    return name


def is_multibyte(name: str) -> bool:
    return name in {"utf-8", "utf-16le", "utf-16be", "shift_jis", "gbk", "gb18030", "euc-kr", "euc-jp", "big5", "iso-2022-jp"}


def decode_as(body: bytes, name: str) -> tuple[str, int]:
    """Text by encoding `name`, and how many faults it had: undecodable bytes, which become U+FFFD.

    Bytes that windows-125x leaves undefined are C1 controls, as the standard has it, and no faults. A character that
    the end of the body cuts is dropped, not a fault: bodies are cut by size limits.
    """
    decoder = codecs.getincrementaldecoder(_CODECS.get(name, name))
    try:
        return decoder("strict").decode(body, final=False), 0
    except UnicodeDecodeError:
        text = text_decoder(name)(body)
        return text, text.count("\ufffd")


def text_decoder(name: str) -> Callable[[bytes], str]:
    """Decodes one part of a document after the other; a character that a part cuts comes with the next one."""
    decoder = codecs.getincrementaldecoder(_CODECS.get(name, name))
    return decoder("trawl-c1" if name.startswith("windows-") else "replace").decode


def _c1_control(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(byte) if 0x80 <= byte < 0xA0 else "\ufffd" for byte in bad), error.end


codecs.register_error("trawl-c1", _c1_control)
