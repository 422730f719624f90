"""The tables of the lake: the only vocabulary that stages share.

`TABLES[name]` gives a `TableSpec`: its partitioning, its arrow schema (each field with a `doc`), and its sort key.
A date × domain table has the partition columns `crawl_date` and `domain` first; a date table has `crawl_date`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

SCHEMA_VERSION = 4  # raised with each change of a table; files of an older version are read, with nulls for what they lack

DATE = pa.date32()
TIME = pa.timestamp("us", tz="UTC")
TEXT = pa.string()
INT = pa.int64()
SMALL = pa.int32()
FLOAT = pa.float64()
BOOL = pa.bool_()

OUTCOMES = (
    "ok",
    "not_modified",
    "http_error",
    "truncated",
    "invalid_http",
    "timeout",
    "connect_error",
    "dns_error",
    "tls_error",
    "robots_denied",
    "robots_unavailable",
    "out_of_scope",
    "blocked_address",
    "redirect_loop",
    "redirect_limit",
    "unsolicited_304",
)


@dataclass(frozen=True)
class TableSpec:
    """`by` says whether one file holds a crawl date × domain or a whole crawl date; `sort` fixes the row order."""

    name: str
    by: Literal["domain", "date"]
    doc: str
    schema: pa.Schema
    sort: tuple[str, ...]


def _field(name: str, kind: pa.DataType, doc: str, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


_DATE = _field("crawl_date", DATE, "UTC day on which the nightly crawl was scheduled", nullable=False)
_DOMAIN = _field("domain", TEXT, "Partition key: host name or IP literal of the site", nullable=False)


def _spec(name: str, by: Literal["domain", "date"], doc: str, sort: tuple[str, ...], *columns: tuple[str, pa.DataType, str]) -> TableSpec:
    head = [_DATE, _DOMAIN] if by == "domain" else [_DATE]
    fields = head + [_field(column, kind, text) for column, kind, text in columns]
    return TableSpec(name, by, doc, pa.schema(fields, metadata={"doc": doc}), sort)


captures = _spec(
    "captures",
    "domain",
    "One row per fetch attempt; warc_* is set exactly when a WARC record exists",
    ("fetch_time", "capture_id"),
    ("capture_id", TEXT, "UUID of the attempt; the UUID in WARC-Record-ID when a record exists"),
    ("warc_type", TEXT, "response or revisit; in imported files also resource or conversion; null without a record"),
    (
        "url_surtkey",
        TEXT,
        "Key of the URL in CDX indexes: SURT without session ids; rows of early versions keep these, and addresses unturned",
    ),
    ("url", TEXT, "Requested URL, normalised by RFC 3986 section 6.2.2, no fragment"),
    ("url_host_name", TEXT, "Host of the URL"),
    ("url_host_registered_domain", TEXT, "Registered domain by the public suffix list; the host itself for an IP literal"),
    ("url_host_tld", TEXT, "Last label of the host; null for an IP literal"),
    ("url_protocol", TEXT, "http or https"),
    ("url_port", SMALL, "Port when it is not the scheme's default"),
    ("url_path", TEXT, "Path of the URL"),
    ("url_query", TEXT, "Query of the URL without '?'; null when there is none"),
    ("fetch_time", TIME, "When the request was sent"),
    ("fetch_status", SMALL, "HTTP status code; null when no answer came"),
    ("fetch_redirect", TEXT, "Absolute target of a 3xx answer, normalised"),
    ("content_digest", TEXT, "sha1 base32 of the payload (transfer-decoded, content coding kept), without 'sha1:'"),
    ("content_mime_type", TEXT, "Declared media type, lower case, without parameters"),
    ("content_mime_detected", TEXT, "Media type detected from the content"),
    ("content_charset", TEXT, "Charset of the decoded document"),
    ("content_languages", TEXT, "ISO 639-3 codes, comma-separated; null when not detected at fetch time"),
    ("content_truncated", TEXT, "length, time, disconnect or unspecified, as in WARC-Truncated; null when complete"),
    ("warc_filename", TEXT, "Path of the WARC file below the lake's root; in warc/imported/ where another program wrote it"),
    ("warc_record_offset", INT, "Byte offset of the gzip member (of the record in an imported plain file)"),
    ("warc_record_length", INT, "Byte length of the gzip member"),
    ("http_header_length", SMALL, "Bytes of the HTTP head inside the record block"),
    ("request_offset", INT, "Offset of the request record in the same file"),
    ("request_length", INT, "Length of the request record"),
    ("metadata_offset", INT, "Offset of the metadata record in the same file"),
    ("metadata_length", INT, "Length of the metadata record"),
    ("payload_bytes", INT, "Bytes of the payload after transfer decoding, content coding kept"),
    ("wire_bytes", INT, "Bytes received for this answer, head included"),
    ("payload_sha256", TEXT, "sha256 hex of the payload"),
    ("block_digest", TEXT, "sha1 base32 of the record block, without 'sha1:'"),
    ("content_encoding", TEXT, "Content-Encoding as sent"),
    ("transfer_encoding", TEXT, "Transfer-Encoding as sent"),
    ("etag", TEXT, "ETag byte for byte (latin-1)"),
    ("last_modified", TEXT, "Last-Modified byte for byte (latin-1)"),
    ("cache_control", TEXT, "Cache-Control as sent"),
    ("retry_after", TEXT, "Retry-After as sent"),
    ("revisit_profile", TEXT, "identical-payload-digest or server-not-modified; null when not a revisit"),
    ("refers_to_id", TEXT, "capture_id whose record holds the payload of this revisit"),
    ("refers_to_url", TEXT, "URL of that capture"),
    ("refers_to_date", TIME, "Fetch time of that capture"),
    ("refers_to_warc_filename", TEXT, "WARC file of that capture"),
    ("refers_to_warc_offset", INT, "Offset of that record"),
    ("refers_to_warc_length", INT, "Length of that record"),
    ("ip_address", TEXT, "Address that answered"),
    ("http_version", TEXT, "HTTP/1.0 or HTTP/1.1"),
    ("tls_version", TEXT, "TLSv1.2, TLSv1.3; null without TLS"),
    ("tls_cipher", TEXT, "Cipher suite; null without TLS"),
    ("fetch_ms", FLOAT, "Milliseconds from sending the request to the last byte"),
    ("ttfb_ms", FLOAT, "Milliseconds from sending the request to the first byte"),
    ("outcome", TEXT, "One of: " + ", ".join(OUTCOMES)),
    ("error", TEXT, "What went wrong, for a person; null when nothing did"),
    ("attempt", SMALL, "1 for the first try of this URL tonight"),
    ("redirect_from_id", TEXT, "capture_id of the previous hop of a redirect chain"),
    ("redirect_hop", SMALL, "0 for the URL asked for, 1 for its first redirect target, …"),
    ("via_id", TEXT, "capture_id of the document in which this URL was found"),
    ("depth", SMALL, "Link depth from a seed; 0 for seeds"),
    ("is_seed", BOOL, "Listed in sites.yaml"),
    (
        "kind",
        TEXT,
        "page, media, robots, sitemap or feed: what the URL was fetched as; other: imported and no page, such as an answer to POST",
    ),
    ("robots_digest", TEXT, "content_digest of the robots.txt that allowed or denied it"),
    ("config_hash", TEXT, "Hash of the site's settings"),
    ("software", TEXT, "trawl/<version>, or the software that wrote an imported WARC"),
    ("rendered_offset", INT, "Offset of the conversion record with the DOM that a browser made, in the same file; null without one"),
    ("rendered_length", INT, "Length of the conversion record"),
    ("rendered_digest", TEXT, "sha1 base32 of that DOM, without 'sha1:'"),
)

LOG_REASONS = (
    "attempts",
    "browser",
    "budget",
    "depth",
    "evicted",
    "javascript_redirect",
    "network",
    "nofollow",
    "not_due",
    "put_off",
    "robots",
    "scope",
    "trap",
)

frontier_log = _spec(
    "frontier_log",
    "domain",
    "What was not fetched and why; nothing vanishes",
    ("reason", "detail"),
    (
        "reason",
        TEXT,
        "One of: " + ", ".join(LOG_REASONS) + "; the pages of browser were fetched and not rendered, all others were not fetched",
    ),
    ("detail", TEXT, "The rule, pattern or budget that decided"),
    ("count", INT, "URLs held back, each under one reason; 0 for a maze of an earlier night that still stands and that nothing led into"),
    ("samples", pa.list_(TEXT), "Up to 10 of those URLs, sorted"),
    ("first_seen", TIME, "When the first of them was held back; of a maze, when it was found to be one, maybe on an earlier night"),
)

OUTLINK = pa.struct([("url", TEXT), ("rel", TEXT), ("text", TEXT), ("in_scope", BOOL)])
HEADING = pa.struct([("level", pa.int8()), ("text", TEXT)])

pages = _spec(
    "pages",
    "domain",
    "One row per capture of kind page with a body, whatever its status but 3xx, and per revisit of one; "
    "an unchanged body carries its earlier extraction over",
    ("url", "fetch_time", "capture_id"),
    ("capture_id", TEXT, "The capture this row describes"),
    (
        "body_capture_id",
        TEXT,
        "The capture whose record holds the body: itself (also when a browser rendered it), or what a revisit refers to",
    ),
    ("warc_filename", TEXT, "WARC file that holds the body"),
    ("warc_record_offset", INT, "Offset of the record that holds the body"),
    ("warc_record_length", INT, "Length of that record"),
    ("url", TEXT, "Requested URL"),
    ("final_url", TEXT, "URL that answered with this body; the requested one: hops have captures of their own"),
    ("canonical_url", TEXT, "final_url after permanent redirects; a hint never replaces it"),
    ("canonical_hint", TEXT, "link rel=canonical of the page, absolute; null when it has none"),
    ("fetch_time", TIME, "When it was fetched"),
    ("fetch_status", SMALL, "HTTP status of the capture (304 for an unchanged page)"),
    ("title", TEXT, "Title"),
    ("description", TEXT, "Description"),
    ("author", TEXT, "Author"),
    ("site_name", TEXT, "Name of the site as the page gives it"),
    ("date_published", TEXT, "ISO 8601 date"),
    ("date_modified", TEXT, "ISO 8601 date"),
    ("language", TEXT, "Language the page declares or that was detected, BCP 47 primary subtag"),
    ("charset", TEXT, "WHATWG name of the encoding used to decode it"),
    (
        "charset_source",
        TEXT,
        "bom, header, meta or xml; detected: nothing is declared, or the bytes contradict it; repaired: UTF-8 encoded twice; default",
    ),
    ("mime_detected", TEXT, "Media type by content"),
    (
        "page_type",
        TEXT,
        "The page type of the extraction schema that the URL matches, else predicted_type, else what the document is: html, json, pdf, "
        "feed, xml, text or other",
    ),
    (
        "predicted_type",
        TEXT,
        "What a model takes an HTML page for: article, collection, documentation, forum, listing, product or service; null for others",
    ),
    ("text", TEXT, "Main content as text, one block a line"),
    ("text_sha256", TEXT, "sha256 hex of the text for comparison (NFKC, lower case, tokens joined by a space); null without tokens"),
    ("text_chars", INT, "Characters of text"),
    ("text_words", INT, "Word tokens of text"),
    ("html_bytes", INT, "Bytes of the content-decoded document"),
    ("page_count", SMALL, "Pages of a PDF; null for other documents"),
    ("link_density", FLOAT, "Share of the visible characters that stand inside links, 0 to 1"),
    ("headings", pa.list_(HEADING), "h1 to h6 in document order"),
    ("outlinks", pa.list_(OUTLINK), "Links in document order, each URL once, normalised"),
    ("needs_browser", BOOL, "The content seems to be rendered by scripts"),
    (
        "extractor",
        TEXT,
        "Which extractor gave the text: blocks, markup, resiliparse, trafilatura or blended for HTML, stream for very long HTML; "
        "pypdfium2, json, feed, sitemap, text",
    ),
    ("extractor_version", TEXT, "Version of Trawl's extraction; a change makes the row stale"),
    (
        "extract_status",
        TEXT,
        "ok, carried, empty, timeout, too_large, encrypted, broken, unsupported or error; "
        "of too_large and broken the text may be what could be read",
    ),
    ("extract_error", TEXT, "Reason when the status is not ok or carried"),
    ("extract_ms", FLOAT, "Milliseconds of extraction; kept from the earlier row where nothing else of the row changed"),
    (
        "carried_because",
        TEXT,
        "What was taken over of the URL's previous capture: same_payload (all that the body gives), same_lines (the text) or "
        "same_reading (only the choice of the extractor); null for nothing: docs/recrawl-gate.md",
    ),
    (
        "gate_check",
        TEXT,
        "agreed or differed: whether the text is that of the previous capture, for a page of the gate's sample, which is read though it "
        "shows the same lines; null for others",
    ),
)

page_blocks = _spec(
    "page_blocks",
    "domain",
    "A page's visible blocks in order: what the extraction gate, the noise filter and the diff read",
    ("url", "capture_id", "position"),
    ("url", TEXT, "Requested URL"),
    ("capture_id", TEXT, "The capture"),
    ("position", SMALL, "0 for the first block"),
    ("hash", pa.uint64(), "xxh3_64 of the whitespace-normalised text"),
    ("heading", TEXT, "Trail of the headings above, joined by ' › '"),
    ("text", TEXT, "Whitespace-normalised text"),
    ("in_main", BOOL, "Part of the main content (not nav, header, footer, aside)"),
)

structured_data = _spec(
    "structured_data",
    "domain",
    "One row per structured item on a page: JSON-LD, Microdata, RDFa, OpenGraph and the selector schemas of sites.yaml",
    ("url", "capture_id", "position"),
    ("url", TEXT, "Requested URL"),
    ("capture_id", TEXT, "The capture"),
    ("position", SMALL, "0 for the first item of the page"),
    ("syntax", TEXT, "json-ld, microdata, rdfa, opengraph or selector; feed for the entries of a feed"),
    ("type", TEXT, "Type without its vocabulary, like Product; null when unknown"),
    ("fields", TEXT, "The item as a JSON object with sorted keys; null when it can't be parsed"),
    ("valid", BOOL, "Parsed, and no problem found"),
    ("problems", pa.list_(TEXT), "What is wrong with it"),
    ("within", SMALL, "position of the item whose part this is, for a Product that is a page's main entity; null for an item of its own"),
    ("entity_type", TEXT, "Product, Article, Organization, Event or BreadcrumbList, also for their subtypes; null for other items"),
    (
        "entity",
        TEXT,
        "The item in one schema for all syntaxes, a JSON object with sorted keys (docs/structured.md); null without entity_type",
    ),
    (
        "preferred",
        BOOL,
        "Of this entity_type the page's first syntax without a problem, in the order json-ld, microdata, rdfa, opengraph; "
        "null without entity_type",
    ),
)

fingerprints = _spec(
    "fingerprints",
    "domain",
    "One row per page with text: digests, SimHash, MinHash and LSH bands",
    ("url", "capture_id"),
    ("url", TEXT, "Requested URL"),
    ("capture_id", TEXT, "The capture"),
    ("text_sha256", TEXT, "As in pages"),
    ("doc_key", TEXT, "Key of the document content: text_sha256, else payload_sha256; null when there is neither"),
    ("simhash", pa.uint64(), "64-bit SimHash over weighted word 3-grams; null without tokens"),
    ("minhash", pa.binary(), "128 × uint32 little-endian, datasketch affine32 over word 5-grams; null without tokens"),
    ("n_shingles", INT, "Distinct shingles"),
    ("bands", pa.list_(pa.uint64()), "One hash per LSH band"),
    ("params_id", TEXT, "Parameters of minhash and bands; another value is not comparable"),
)

duplicates = _spec(
    "duplicates",
    "date",
    "Clusters over the corpus as of this date, one row per member URL",
    ("cluster_id", "relation", "url"),
    ("cluster_id", TEXT, "text_sha256 of the representative"),
    ("text_sha256", TEXT, "Digest of this member's normalised text"),
    ("url", TEXT, "Member URL"),
    ("domain", TEXT, "Its domain"),
    ("capture_id", TEXT, "Capture of the version that was compared"),
    ("first_seen", TIME, "First good fetch of this URL"),
    ("representative_url", TEXT, "min(first seen, URL length, URL, digest) of the cluster"),
    ("relation", TEXT, "representative, exact, near or transitive"),
    ("jaccard", FLOAT, "Exact Jaccard of the shingle sets with the representative"),
    ("hamming", SMALL, "SimHash distance to the representative"),
)

related_pages = _spec(
    "related_pages",
    "date",
    "Pairs of documents with .5 <= Jaccard < .8; reported, never clustered",
    ("url", "other_url"),
    ("url", TEXT, "The lesser URL"),
    ("domain", TEXT, "Its domain"),
    ("other_url", TEXT, "The greater URL"),
    ("other_domain", TEXT, "Its domain"),
    ("jaccard", FLOAT, "Exact Jaccard of the shingle sets"),
)

EVENTS = (
    "new",
    "content",
    "template",
    "structured",
    "metadata",
    "moved",
    "gone",
    "soft_gone",
    "reappeared",
    "reverted",
    "unreachable",
)

DIFF_OP = pa.struct(
    [("op", TEXT), ("old_start", SMALL), ("old_end", SMALL), ("new_start", SMALL), ("new_end", SMALL), ("new_blocks", pa.list_(TEXT))]
)
EVIDENCE = pa.struct(
    [
        ("payload_digest_changed", BOOL),
        ("etag_changed", BOOL),
        ("last_modified_changed", BOOL),
        ("text_changed", BOOL),
        ("blocks_changed", BOOL),
        ("structured_changed", BOOL),
        ("extractor_changed", BOOL),
    ]
)
FIELD_CHANGE = pa.struct([("path", TEXT), ("old", TEXT), ("new", TEXT)])

changes = _spec(
    "changes",
    "domain",
    "One row per URL with an event that night; (crawl_date, url) is unique",
    ("url",),
    ("url", TEXT, "Requested URL"),
    ("event", TEXT, "One of: " + ", ".join(EVENTS)),
    (
        "kinds",
        pa.list_(TEXT),
        "Everything that changed, sorted: content, structured, title, canonical, opengraph, status, redirect, template",
    ),
    ("severity", TEXT, "info, minor or major"),
    ("prev_crawl_date", DATE, "Date of the capture compared with"),
    ("prev_capture_id", TEXT, "The capture compared with; null for a new URL"),
    ("capture_id", TEXT, "Tonight's capture"),
    ("status", SMALL, "HTTP status tonight"),
    ("prev_status", SMALL, "HTTP status then"),
    ("final_url", TEXT, "Where the URL leads tonight"),
    ("prev_final_url", TEXT, "Where it led then"),
    ("title", TEXT, "Title tonight"),
    ("prev_title", TEXT, "Title then"),
    ("evidence", EVIDENCE, "Which signals differed"),
    ("simhash_distance", SMALL, "Bits between the SimHashes"),
    ("blocks_added", SMALL, "Blocks only in the new version"),
    ("blocks_removed", SMALL, "Blocks only in the old version"),
    ("words_added", SMALL, "Words only in the new version"),
    ("words_removed", SMALL, "Words only in the old version"),
    ("added_text", TEXT, "Added words, one changed block a line"),
    ("removed_text", TEXT, "Removed words, one changed block a line"),
    (
        "diff_ops",
        pa.list_(DIFF_OP),
        "Applied to the old page's blocks they give the new: replace, insert, delete over [start, end) block positions",
    ),
    ("fields", pa.list_(FIELD_CHANGE), "Structured-data paths and metadata that changed"),
    ("template_blocks", SMALL, "Changed blocks that are template edits of the domain that night"),
    ("volatile_blocks", SMALL, "Changed blocks that differ at every fetch"),
    ("truncated", BOOL, "The texts of this row were cut for size; the counts are complete"),
    ("gap_days", SMALL, "Days between the two captures"),
    ("seen_before_date", DATE, "For reverted: when this content was seen before"),
    ("detector_version", TEXT, "Version of the change detector"),
)

template_edits = _spec(
    "template_edits",
    "domain",
    "Block edits shared by many pages of a domain in one night",
    ("op", "text"),
    ("op", TEXT, "added or removed"),
    ("hash", pa.uint64(), "Hash of the block"),
    ("text", TEXT, "The block"),
    ("pages", INT, "Changed pages that share the edit"),
    ("changed_pages", INT, "Changed pages of the domain that night"),
    ("samples", pa.list_(TEXT), "Up to 5 URLs, sorted"),
)

url_history = _spec(
    "url_history",
    "domain",
    "What is known of each URL after that date",
    ("url",),
    ("url", TEXT, "The URL"),
    ("first_seen_at", TIME, "First good fetch"),
    ("last_fetched_at", TIME, "Last attempt that got an answer or an error"),
    ("last_ok_at", TIME, "Last good fetch (200 or 304); failures never move it"),
    ("last_changed_at", TIME, "Last good fetch that found a change"),
    ("last_status", SMALL, "Last HTTP status"),
    ("last_outcome", TEXT, "Last outcome: ok, not_modified, error, throttled, gone or redirect"),
    ("etag", TEXT, "Validator of the last good body"),
    ("last_modified", TEXT, "Validator of the last good body"),
    ("server_last_modified", TIME, "Last-Modified of the last good body as a moment"),
    ("validator_kind", TEXT, "etag, last_modified, both or none"),
    ("content_digest", TEXT, "Payload digest of the last good body"),
    ("rendered_digest", TEXT, "Digest of what a browser made of the last good body; null when none did"),
    ("body_capture_id", TEXT, "Capture that holds the last good body"),
    ("body_fetch_time", TIME, "When that capture was made"),
    ("body_warc_filename", TEXT, "WARC file that holds the last good body"),
    ("body_warc_offset", INT, "Offset of its record"),
    ("body_warc_length", INT, "Length of its record"),
    ("n_changed", INT, "Intervals between good fetches that ended in a change"),
    ("n_unchanged", INT, "Intervals that ended without one"),
    ("days_changed", FLOAT, "Total length of the changed intervals, days"),
    ("days_unchanged", FLOAT, "Total length of the unchanged intervals, days"),
    ("bytes", INT, "Wire bytes of the last good full answer"),
    ("errors_in_row", SMALL, "Failures since the last good fetch"),
    ("next_retry_at", TIME, "Not before this moment; null when free"),
    ("weight", FLOAT, "Importance, > 0"),
    ("hint_at", TIME, "Latest sitemap lastmod seen for it"),
    ("canonical_url", TEXT, "Target of a permanent redirect; null when it answers itself"),
    ("depth", SMALL, "Least link depth seen"),
    ("state", TEXT, "active, gone or excluded"),
)

PLAN_REASONS = ("forced_age", "index", "retry", "probe", "hint", "priority", "seed", "new")

crawl_plan = _spec(
    "crawl_plan",
    "domain",
    "What is to be fetched tonight, and why; links found while crawling come on top within the budget",
    ("rank",),
    ("rank", INT, "1 is fetched first"),
    ("url", TEXT, "The URL"),
    ("score", FLOAT, "Value of fetching it tonight"),
    ("reason", TEXT, "One of: " + ", ".join(PLAN_REASONS)),
    ("rate_per_day", FLOAT, "Estimated changes a day; null for a URL never fetched"),
    ("staleness_days", FLOAT, "Days since the last good fetch; null for a URL never fetched"),
    ("etag", TEXT, "Validator to send as If-None-Match"),
    ("last_modified", TEXT, "Validator to send as If-Modified-Since"),
    ("body_capture_id", TEXT, "Capture that holds the body which the validators describe"),
    ("depth", SMALL, "Link depth"),
)

EMBEDDING_DIM = 384

chunks = _spec(
    "chunks",
    "domain",
    "Section chunks of tonight's pages with their embeddings",
    ("url", "capture_id", "position"),
    ("chunk_id", INT, "Stable id from URL, chunk digest and occurrence; positive"),
    ("url", TEXT, "Requested URL"),
    ("capture_id", TEXT, "The capture"),
    ("title", TEXT, "Title of the page"),
    ("fetch_time", TIME, "When the page was fetched"),
    ("extracted_at", TIME, "fetch_time of the capture whose body was extracted"),
    ("position", SMALL, "0 for the first chunk of the page"),
    ("start_char", INT, "Start in pages.text, characters"),
    ("end_char", INT, "End in pages.text, exclusive"),
    ("heading", TEXT, "Heading trail above the chunk"),
    ("text", TEXT, "pages.text[start_char:end_char]"),
    ("chunk_sha256", TEXT, "sha256 hex of the text that was embedded"),
    ("embedding", pa.list_(pa.float16(), EMBEDDING_DIM), "Unit vector"),
    ("model_id", TEXT, "Embedding model; vectors of two models are never mixed"),
)

crawl_report = _spec(
    "crawl_report",
    "date",
    "Health of the night, one row per domain and origin; origin null is the domain's total",
    ("domain", "origin"),
    ("domain", TEXT, "The domain"),
    ("origin", TEXT, "scheme://host:port; null for the domain's total"),
    ("fetched", INT, "Answers with a body"),
    ("not_modified", INT, "304 answers"),
    ("changed", INT, "URLs with a content, structured, metadata or new event"),
    ("errors", INT, "Failed attempts"),
    ("errors_by_kind", pa.map_(TEXT, INT), "Failed attempts by outcome"),
    ("error_rate", FLOAT, "errors / attempts"),
    ("fresh_coverage", FLOAT, "Share of active URLs with a good fetch within max_age_days"),
    ("bytes_per_changed_page", FLOAT, "Wire bytes per useful changed page"),
    ("oldest_lease_s", FLOAT, "Age of the oldest unfinished lease, seconds"),
    ("oldest_page_days", FLOAT, "Age of the page that was not fetched for longest"),
    ("length_percentiles", pa.map_(TEXT, FLOAT), "Text length at p10, p25, p50, p75, p90"),
    ("filter_rate", FLOAT, "Share of pages with less than 200 characters of text"),
    ("wire_bytes", INT, "Bytes received"),
    ("crawl_seconds", FLOAT, "From the first to the last fetch"),
)

TABLES: dict[str, TableSpec] = {
    spec.name: spec
    for spec in (
        captures,
        frontier_log,
        pages,
        page_blocks,
        structured_data,
        fingerprints,
        duplicates,
        related_pages,
        changes,
        template_edits,
        url_history,
        crawl_plan,
        chunks,
        crawl_report,
    )
}
