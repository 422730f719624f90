"""Search: pages become chunks with embeddings, chunks become an index, the index answers queries.

Reads pages, captures and duplicates. Writes chunks and index/crawl_date=…/. Promises that each chunk is
pages.text[start_char:end_char], that vectors of two models are never mixed, and that nothing is fetched.
"""
