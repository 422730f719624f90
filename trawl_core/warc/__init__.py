"""The archive: WARC/1.1 files written by us, read by range.

Reads: exchanges from the wire. Writes: WARC files below `warc/` in the lake. Promises: what the server sent is what
the record holds; a file is only ever appended to while it is `.open`, and never after it is sealed.
"""
