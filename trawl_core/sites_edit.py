"""Adding a site to sites.yaml, comments and order kept."""

from __future__ import annotations

import io
import os
from pathlib import Path

import ada_url
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from trawl_core.errors import ConfigError, UsageError, explain_os_error
from trawl_core.sites import Site, check_http_url, load_sites, parse_sites


def add_site(path: Path, url: str, *, enabled: bool = True) -> Site:
    """Append a site with the seed `url` and write the file in one step; returns the checked site.

    Raises UsageError for a bad URL or a domain that is there already, ConfigError when the result would be wrong:
    the file is then as it was.
    """
    try:
        seed = ada_url.normalize_url(check_http_url(url if "://" in url else f"https://{url}"))
    except ValueError as error:
        raise UsageError(f"adding a site: {error}. Write it like https://docs.example.org/.") from None
    config = load_sites(path)
    parts = ada_url.parse_url(seed, ["hostname", "port"])
    domain = parts["hostname"].strip("[]")
    if any(site.domain == domain for site in config.sites):
        raise UsageError(f"{domain} is in {path} already; edit it there, or add the URL to its seeds.")
    yaml = YAML(typ="rt")
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 10_000
    yaml.preserve_quotes = True
    tree = yaml.load(path.read_text(encoding="utf-8"))
    entry: dict[str, object] = {"domain": domain, "seeds": [seed]}
    if parts["port"]:
        entry["network"] = {"allow_ports": [int(parts["port"])]}
    if not enabled:
        entry["enabled"] = False
    known = tree.get("sites")
    if not known:
        tree["sites"] = CommentedSeq([entry])
    else:
        known.append(entry)
    text = io.StringIO()
    yaml.dump(tree, text)
    try:
        checked = parse_sites(text.getvalue(), str(path))
    except ConfigError as error:
        raise ConfigError(f"adding {domain} would make the file wrong, so it was left as it is:\n{error}") from None
    _replace(path, text.getvalue())
    return checked.site(domain)


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise explain_os_error(error, "writing", path) from error
