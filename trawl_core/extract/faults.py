"""What parsing libraries raise on documents they were not made for.

None of it is a fault of ours to hide: whoever catches it puts the reason into the page's row or takes the next extractor.
MemoryError is not among them: it ends the worker, which costs one page.
"""

from __future__ import annotations

from lxml import etree

LIBRARY_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    etree.LxmlError,
)


def describe_fault(error: BaseException) -> str:
    """One line for a person."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
