"""Pages whose only content is a script that sends the browser elsewhere. Seen and told, not followed: scripts are not run."""

from __future__ import annotations

import re

MAX_BYTES = 16 * 1024
MAX_TEXT_CHARS = 200

_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile(r"<!--.*?-->|<(style|noscript|title|template)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
_LITERAL = r"""(["'`])((?:(?!\1)[^\\\n]|\\.)+)\1"""
_MOVE = re.compile(
    r"(?<![\w$.])(?:(?:window|document|self|top|parent)\s*\.\s*)*location\s*"
    rf"(?:(?:\.\s*href\s*)?=\s*|\.\s*(?:replace|assign)\s*\(\s*){_LITERAL}\s*(?=[;)}},\n]|$)"
)


def script_redirect(document: bytes) -> str | None:
    """The reference, as the script writes it, to which a small page without text leads; None for any other page.

    `document` is the decoded payload of an HTML page. A target that is put together from parts is not seen.
    """
    if len(document) > MAX_BYTES or b"location" not in document:
        return None
    text = document.decode("utf-8", "replace")
    if len(" ".join(_UNSEEN.sub(" ", _SCRIPT.sub(" ", text)).split())) > MAX_TEXT_CHARS:
        return None
    for attributes, script in _SCRIPT.findall(text):
        if re.search(r"\bsrc\s*=", attributes, re.IGNORECASE):
            continue
        move = _MOVE.search(_COMMENT.sub("", script).strip())
        if move is not None and not move[2].startswith("#") and "${" not in move[2]:
            return re.sub(r"\\(.)", r"\1", move[2])
    return None
