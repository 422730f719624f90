"""URLs as values: one spelling for each, what of a site may be fetched, and which families of URLs never end.

Reads: strings and the site's settings. Writes: nothing. Promises: pure functions, and a URL that is normalised twice
stays as it was after the first time.
"""
