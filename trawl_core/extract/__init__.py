"""Extraction: from archived bytes to text, blocks, links and structured items.

Reads `captures` and the WARC records they lead to; earlier `pages`, `page_blocks` and `structured_data` for what is
carried over.
Writes `pages`, `page_blocks` and `structured_data`.
Promises one row for each capture with a body, whatever the body is: what can't be extracted is a row with its reason.
"""
