"""One night's captures as what recrawl needs of them: one fetch per URL, and which record holds its newest good body."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import polars as pl

from trawl_core.recrawl.history import TIME, as_utc

CAPTURE_COLUMNS = (
    "url",
    "domain",
    "kind",
    "capture_id",
    "warc_type",
    "fetch_time",
    "fetch_status",
    "fetch_redirect",
    "content_digest",
    "rendered_digest",
    "content_truncated",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "wire_bytes",
    "etag",
    "last_modified",
    "refers_to_id",
    "refers_to_date",
    "refers_to_warc_filename",
    "refers_to_warc_offset",
    "refers_to_warc_length",
    "outcome",
    "depth",
)
CHANGED_EVENTS = ("new", "content", "structured", "metadata", "reappeared", "reverted", "moved", "soft_gone")

_VALIDATORS = ("etag", "last_modified")
_BODY = (
    "content_digest",
    "rendered_digest",
    "body_capture_id",
    "body_fetch_time",
    "body_warc_filename",
    "body_warc_offset",
    "body_warc_length",
)


def night_of(captures: pl.DataFrame) -> pl.DataFrame:
    """Captures of kind page, one row per URL, sorted by URL: its last answer, else its last failure, of that night.

    Adds `fetched` (an outcome of `update_history`) and `least_depth`. Tries that an answer followed count for nothing, so
    a URL has one failure a night at most.
    """
    redirect = pl.col("fetch_status").is_between(300, 399) & pl.col("fetch_redirect").is_not_null()
    fetched = (
        pl.when(pl.col("outcome") == "not_modified")
        .then(pl.lit("not_modified"))
        .when((pl.col("outcome") == "ok") & redirect)
        .then(pl.lit("redirect"))
        .when((pl.col("outcome") == "ok") & pl.col("fetch_status").is_between(200, 299))
        .then(pl.lit("ok"))
        # A body cut at the size limit is all that is wanted of it; fetching it again would bring the same.
        .when((pl.col("outcome") == "truncated") & (pl.col("content_truncated") == "length") & (pl.col("fetch_status") == 200))
        .then(pl.lit("ok"))
        .when((pl.col("outcome") == "http_error") & pl.col("fetch_status").is_in([404, 410]))
        .then(pl.lit("gone"))
        .when(
            ((pl.col("outcome") == "http_error") & pl.col("fetch_status").is_in([429, 503])) | (pl.col("outcome") == "robots_unavailable")
        )
        .then(pl.lit("throttled"))
        .otherwise(pl.lit("error"))
    )
    return (
        captures.filter((pl.col("kind").fill_null("page") == "page") & (pl.col("outcome") != "out_of_scope"))
        .with_columns(fetched=fetched, least_depth=pl.col("depth").min().over("url"))
        .with_columns(answered=pl.col("fetched").is_in(["error", "throttled"]).not_())
        .sort("url", "answered", "fetch_time", "capture_id")
        .group_by("url", maintain_order=True)
        .last()
    )


def fetches_of(night: pl.DataFrame, changes: pl.DataFrame | None, history: pl.DataFrame) -> pl.DataFrame:
    """`night` as `update_history` takes it.

    Whether a page changed is what `changes` says of its URL (a template edit is none); where that table was not made
    (None), whether its digest differs from the history's: that of the DOM where a browser rendered the page both times. One that was
    rendered one time only may have changed or not when the page that holds the scripts is the same.
    """
    with_tag, with_date = pl.col("etag").is_not_null(), pl.col("last_modified").is_not_null()
    validators = (
        pl.when(with_tag & with_date)
        .then(pl.lit("both"))
        .when(with_tag)
        .then(pl.lit("etag"))
        .when(with_date)
        .then(pl.lit("last_modified"))
        .otherwise(pl.lit("none"))
    )
    if changes is None:
        digests = history.select("url", known_digest="content_digest", known_rendering="rendered_digest")
        now, before = pl.col("rendered_digest"), pl.col("known_rendering")
        differs = pl.col("content_digest") != pl.col("known_digest")
        marked = night.join(digests, on="url", how="left").with_columns(
            changed=pl.when(now.is_not_null() & before.is_not_null())
            .then(now != before)
            .when((now.is_not_null() != before.is_not_null()) & differs.not_())
            .then(None)
            .otherwise(differs)
        )
    else:
        marked = night.join(changes.select("url", "event"), on="url", how="left").with_columns(
            changed=pl.col("event").is_in(CHANGED_EVENTS).fill_null(False)
        )
    return marked.select(
        "url",
        "domain",
        fetched_at="fetch_time",
        outcome="fetched",
        changed=pl.when(pl.col("fetched") == "ok").then("changed"),
        server_last_modified=http_moments(marked["last_modified"]),
        bytes="wire_bytes",
        validator_kind=pl.when(pl.col("fetched") == "ok").then(validators),
    )


def remember_bodies(history: pl.DataFrame, night: pl.DataFrame) -> pl.DataFrame:
    """`history` (already updated by this night's fetches) with validators, body record, status, canonical URL and depth.

    A 200 replaces the validators, also by none; a 304 renews those that it repeats; 404 and 410 drop them. Without a
    record that holds the body there are none, since a 304 to them could not be resolved.
    """
    found = night.select(
        "url",
        "fetched",
        "content_digest",
        "rendered_digest",
        "least_depth",
        *_VALIDATORS,
        last_status="fetch_status",
        target=pl.when(pl.col("fetch_status").is_in([301, 308])).then("fetch_redirect"),
        whole=pl.col("content_truncated").is_null(),
        body_capture_id=pl.coalesce("refers_to_id", pl.when(pl.col("warc_type") == "response").then("capture_id")),
        body_fetch_time=pl.coalesce("refers_to_date", pl.when(pl.col("warc_type") == "response").then("fetch_time")),
        body_warc_filename=_place("refers_to_warc_filename", "warc_filename"),
        body_warc_offset=_place("refers_to_warc_offset", "warc_record_offset"),
        body_warc_length=_place("refers_to_warc_length", "warc_record_length"),
    )
    joined = history.join(found, on="url", how="left", suffix="_new", maintain_order="left")
    new_body, confirmed, gone = (pl.col("fetched") == outcome for outcome in ("ok", "not_modified", "gone"))
    kept = {
        name: pl.when(new_body).then(f"{name}_new").when(confirmed).then(pl.coalesce(f"{name}_new", name)).otherwise(name) for name in _BODY
    }
    tags = {
        name: pl.when(new_body & pl.col("whole") & pl.col("body_warc_filename_new").is_not_null())
        .then(f"{name}_new")
        .when(new_body | gone)
        .then(None)
        .when(confirmed)
        .then(pl.coalesce(f"{name}_new", name))
        .otherwise(name)
        for name in _VALIDATORS
    }
    canonical = pl.when(new_body | confirmed).then(None).when(pl.col("fetched") == "redirect").then("target").otherwise("canonical_url")
    return joined.with_columns(
        **kept,
        **tags,
        last_status=pl.coalesce("last_status_new", "last_status"),
        canonical_url=canonical,
        depth=pl.min_horizontal("depth", "least_depth"),
    ).select(history.columns)


def _place(referred: str, own: str) -> pl.Expr:
    return pl.when(pl.col("refers_to_id").is_not_null()).then(referred).when(pl.col("warc_type") == "response").then(own)


def http_moments(texts: pl.Series) -> pl.Series:
    """HTTP dates (RFC 9110 section 5.6.7) as moments; null where there is none or it is not one."""
    known = {text: _http_moment(text) for text in texts.drop_nulls().unique()}
    return pl.Series([known.get(text) for text in texts], dtype=TIME)


def _http_moment(text: str) -> object:
    try:
        return as_utc(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None
