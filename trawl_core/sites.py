"""sites.yaml: which sites are crawled, and how. Typed, checked, `extra="forbid"`.

`load_sites(path)` gives a `SitesConfig`; a wrong file raises ConfigError with file, line and the nearest valid key.
`defaults` holds any site key but `domain` and `seeds`; a site's own value wins, nested mappings are merged key by key.
"""

from __future__ import annotations

import difflib
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import ada_url
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from trawl_core.errors import ConfigError, UnknownDomainError, explain_os_error
from trawl_core.selector_syntax import check_css, check_xpath, is_xpath

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)?\s*$", re.IGNORECASE)
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_HOST = re.compile(r"^(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*$")


def parse_size(value: object) -> object:
    """Bytes of `20MiB`, `2GB` or a plain number; anything else is returned for pydantic to refuse."""
    if isinstance(value, str) and (match := _SIZE.match(value)):
        return int(float(match[1]) * _UNITS[(match[2] or "B").upper()])
    return value


def check_domain(value: str) -> str:
    """A partition key: a lower-case ASCII host name or an IP literal, no port, none of Dagster's separators."""
    host = value.strip().rstrip(".").lower()
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    if not host.isascii():
        host = ada_url.idna_to_ascii(host).decode()
    if not _HOST.match(host):
        raise ValueError(f"{value!r} is not a host name (write it without scheme, port and path, like docs.example.org)")
    return host


def check_http_url(value: str) -> str:
    if not ada_url.check_url(value) or ada_url.parse_url(value, ["protocol"])["protocol"] not in ("http:", "https:"):
        raise ValueError(f"{value!r} is not an absolute http(s) URL")
    return value


def check_pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from None
    return value


def check_user_agent(value: str) -> str:
    if not re.match(r"^[A-Za-z_-]+(/|\s|$)", value):
        raise ValueError("it must begin with a product token of letters, '_' and '-' (RFC 9309), like TrawlBot/1.0")
    if not re.search(r"\+?https?://|@", value):
        raise ValueError("it must name a contact, like TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)")
    return value


def check_processes(value: object) -> object:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 64):
        return value
    raise ValueError(f"{value!r} is neither auto nor a number of processes from 1 to 64")


def on_or_off(value: object) -> object:
    """YAML's true and false mean the words that they are written with elsewhere."""
    return ("on" if value else "off") if isinstance(value, bool) else value


def check_json_pointer(value: str) -> str:
    if not value.startswith("/") or re.search(r"~(?![01])", value):
        raise ValueError(f"{value!r} is not a JSON pointer (RFC 6901): it begins with / as in /items/*/body, and writes ~ as ~0, / as ~1")
    return value


UserAgent = Annotated[str, AfterValidator(check_user_agent)]
Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0)]
HttpUrl = Annotated[str, AfterValidator(check_http_url)]
JsonPointer = Annotated[str, AfterValidator(check_json_pointer)]
Pattern = Annotated[str, AfterValidator(check_pattern)]
Positive = Annotated[float, Field(gt=0)]
Processes = Annotated[Literal["auto"] | int, BeforeValidator(check_processes)]
Network = Annotated[str, AfterValidator(lambda value: str(ipaddress.ip_network(value, strict=False)))]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Timeout(_Model):
    connect_s: Positive = 10
    read_s: Positive = 20
    total_s: Positive = 60


class Budget(_Model):
    """Stop rules of one night for one site."""

    pages: Annotated[int, Field(gt=0)] = 10_000
    bytes: Size = 2 * 2**30
    depth: Annotated[int, Field(ge=0)] = 8
    minutes: Positive = 240
    frontier: Annotated[int, Field(gt=0)] = 1_000_000


class Recrawl(_Model):
    max_age_days: Positive = 30
    weight: Positive = 1.0
    objective: Literal["mixed", "freshness", "harm"] = "mixed"


class Compression(_Model):
    """How the archive's records are packed. `level` is ISA-L's 0 to 3 or zlib-ng's 1 to 9; by default 2 and 6."""

    library: Literal["isal", "zlib-ng"] = "isal"
    level: int = 2

    @model_validator(mode="before")
    @classmethod
    def _level_of_the_library(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("library") == "zlib-ng":
            return {"level": 6, **given}
        return given

    @model_validator(mode="after")
    def _check_level(self) -> Compression:
        least, most = (0, 3) if self.library == "isal" else (1, 9)
        if not least <= self.level <= most:
            raise ValueError(f"level {self.level} is none of {self.library}'s: they go from {least} to {most}")
        return self


class Traps(_Model):
    """How many URLs of a family that never ends are fetched before it is held back; URLs that match `allow` belong to none.

    A family is looked at again every `recheck_days` nights.
    """

    enabled: bool = True
    sample: Annotated[int, Field(gt=0)] = 200
    calendar_sample: Annotated[int, Field(gt=0)] = 60
    repeated_sample: Annotated[int, Field(gt=0)] = 20
    session_sample: Annotated[int, Field(gt=0)] = 5
    recheck_days: Annotated[int, Field(gt=0)] = 30
    allow: tuple[Pattern, ...] = ()


class NetworkAccess(_Model):
    """Networks beside the public ones that this site's addresses may lie in, and the ports it may use."""

    allow_networks: tuple[Network, ...] = ()
    allow_ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = (80, 443)


class Priority(_Model):
    pattern: Pattern
    weight: Positive


class Selector(_Model):
    """One field of an extraction schema; `css` or `xpath`, nested `fields` make a container. A text alone is a selector."""

    css: Annotated[str, AfterValidator(check_css)] | None = None
    xpath: Annotated[str, AfterValidator(check_xpath)] | None = None
    many: bool = False
    type: Literal["str", "text", "int", "float", "number", "decimal", "bool", "date", "datetime", "url", "html"] = "str"
    default: Any = None
    fields: dict[str, Selector] = {}

    @model_validator(mode="before")
    @classmethod
    def _a_text_alone(cls, given: Any) -> Any:
        return {"xpath" if is_xpath(given) else "css": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_selector(self) -> Selector:
        if self.css is not None and self.xpath is not None:
            raise ValueError("a field has css or xpath, not both")
        if self.css is None and self.xpath is None and not self.fields:
            raise ValueError("a field needs css or xpath (or fields, which group others)")
        return self

    @property
    def nothing(self) -> Any:
        """The value of a field that matches nothing."""
        return [] if self.many and self.default is None else self.default


class Pagination(_Model):
    """`follow_next` (CSS or XPath) leads from a page of a list to the next one; `max_pages` bounds one list, its first page included."""

    follow_next: str
    max_pages: Annotated[int, Field(gt=0)] = 50

    @field_validator("follow_next")
    @classmethod
    def _check_selector(cls, value: str) -> str:
        return check_xpath(value) if is_xpath(value) else check_css(value)

    @property
    def selector(self) -> Selector:
        return Selector.model_validate(self.follow_next)


class ExtractionSchema(_Model):
    """What is taken from the pages whose URL `pattern` finds."""

    pattern: Pattern
    page_type: str
    selectors: Annotated[dict[str, Selector], Field(min_length=1)]
    pagination: Pagination | None = None


class NotifyRule(_Model):
    """A webhook called for the rows of `changes` that the SQL predicate `where` keeps."""

    url: HttpUrl
    where: str = "true"


class SiteSettings(_Model):
    """Everything that may stand in `defaults` as well as in a site."""

    delay_s: Annotated[float, Field(ge=0)] = 1.0
    max_delay_s: Positive = 60.0
    concurrency: Annotated[int, Field(gt=0)] = 1
    host_concurrency: Annotated[int, Field(gt=0)] = 2
    timeout: Timeout = Timeout()
    max_response_bytes: Size = 20 * 2**20
    max_decoded_bytes: Size = 100 * 2**20
    max_redirects: Annotated[int, Field(ge=0, le=30)] = 5
    max_retry_after_s: Positive = 86_400
    budget: Budget = Budget()
    attempts: Annotated[int, Field(gt=0)] = 3
    recrawl: Recrawl = Recrawl()
    sitemaps: Literal["auto", "none"] | tuple[HttpUrl, ...] = "auto"
    feeds: tuple[HttpUrl, ...] = ()
    media: Literal["skip", "fetch"] = "skip"
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    origins: tuple[HttpUrl, ...] = ()
    keywords: dict[str, float] = {}
    priorities: tuple[Priority, ...] = ()
    network: NetworkAccess = NetworkAccess()
    browser: Literal["off", "when-needed"] = "off"
    extraction_profile: Literal["quality", "fast"] = "quality"
    extraction_gate: Annotated[Literal["on", "off"], BeforeValidator(on_or_off)] = "on"
    gate_sample: Annotated[float, Field(ge=0, le=1)] = 0.02
    extraction: tuple[ExtractionSchema, ...] = ()
    json_pointers: tuple[JsonPointer, ...] = ()
    notify: tuple[NotifyRule, ...] = ()
    follow_nofollow: bool = True
    traps: Traps = Traps()
    compression: Compression = Compression()
    group: str | None = None
    enabled: bool = True


class Site(SiteSettings):
    """One site: `domain` is the partition key, `seeds` the URLs a crawl starts from."""

    domain: Annotated[str, AfterValidator(check_domain)]
    seeds: Annotated[tuple[HttpUrl, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _no_delay_only_on_own_networks(self) -> Site:
        if self.delay_s == 0 and not self.network.allow_networks:
            raise ValueError("delay_s: 0 is accepted only where every address of the site lies in network.allow_networks")
        if self.delay_s == 0 and not self._stands_in_allowed_network():
            raise ValueError(
                f"delay_s: 0 is accepted only where every address of the site lies in network.allow_networks; {self.domain} does not"
            )
        return self

    def _stands_in_allowed_network(self) -> bool:
        try:
            address = ipaddress.ip_address(self.domain)
        except ValueError:
            # A name is checked against its answers when the crawl connects; `localhost` is the one name we know.
            return True
        return any(address in ipaddress.ip_network(network) for network in self.network.allow_networks)

    @property
    def config_hash(self) -> str:
        """First 16 hex digits of sha256 over this site's complete settings; recorded with each capture."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class SitesConfig(_Model):
    """The whole file. `user_agent` starts with the product token that robots.txt is asked for."""

    user_agent: UserAgent
    first_crawl_date: date | None = None
    processes: Processes = "auto"
    sites: tuple[Site, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> SitesConfig:
        seen: set[str] = set()
        for site in self.sites:
            if site.domain in seen:
                raise PydanticCustomError("twice", "the domain {domain} stands twice", {"domain": site.domain})
            seen.add(site.domain)
        return self

    @property
    def product_token(self) -> str:
        return re.split(r"[/\s]", self.user_agent, maxsplit=1)[0]

    @property
    def enabled(self) -> tuple[Site, ...]:
        return tuple(site for site in self.sites if site.enabled)

    def site(self, domain: str) -> Site:
        """The site of a partition key; raises UnknownDomainError naming the nearest known one."""
        for site in self.sites:
            if site.domain == domain:
                return site
        near = difflib.get_close_matches(domain, [site.domain for site in self.sites], n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnknownDomainError(
            f"{domain} is not a site of sites.yaml.{hint} `trawl sites list` shows them, `trawl sites add URL` adds one."
        )

    def select(self, domains: Iterable[str]) -> tuple[Site, ...]:
        """The sites of `domains` in that order, each once; all enabled ones when it is empty."""
        chosen = {domain: self.site(domain) for domain in map(check_domain_or_explain, domains)}
        return tuple(chosen.values()) or self.enabled


def check_domain_or_explain(domain: str) -> str:
    try:
        return check_domain(domain)
    except ValueError as error:
        raise UnknownDomainError(f"{error}.") from None


class _File(_Model):
    """What the file itself may hold; `defaults` is merged into each site before the sites are checked."""

    user_agent: UserAgent
    first_crawl_date: date | None = None
    processes: Processes = "auto"
    defaults: SiteSettings = SiteSettings()
    sites: list[Any] = []


def load_sites(path: Path) -> SitesConfig:
    """Read and check sites.yaml; raises ConfigError with `file:line: what is wrong`, one line a problem."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist. `trawl sites add URL` makes it, or set TRAWL_HOME to the folder that has it.") from None
    except OSError as error:
        raise explain_os_error(error, "reading", path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}).") from None
    return parse_sites(text, str(path))


class _SchemaFile(_Model):
    extraction: tuple[ExtractionSchema, ...]


def parse_schemas(text: str, name: str) -> tuple[ExtractionSchema, ...]:
    """Extraction schemas in a file of their own: a list as it stands under `extraction`, with or without that key, or one
    schema. Raises ConfigError with `file:line: what is wrong`."""
    tree = _load(text, name)
    if not isinstance(tree, (Mapping, list)):
        raise ConfigError(f"{name}: expected a schema or a list of schemas, found {_KINDS.get(type(tree).__name__, 'a single value')}.")
    given = tree if isinstance(tree, Mapping) and "extraction" in tree else {"extraction": [tree] if isinstance(tree, Mapping) else tree}
    try:
        return _SchemaFile.model_validate(_plain(given)).extraction
    except ValidationError as error:
        raise ConfigError(_describe(error, given, name, _SchemaFile)) from None


_KINDS = {"CommentedSeq": "a list", "NoneType": "an empty file"}


def _load(text: str, name: str) -> Any:
    try:
        return YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{name}{line}: not valid YAML: {error.problem or error.context}.") from None
    except YAMLError as error:
        raise ConfigError(f"{name}: not valid YAML: {error}.") from None


def parse_sites(text: str, name: str = "sites.yaml") -> SitesConfig:
    tree = _load(text, name)
    if not isinstance(tree, Mapping):
        raise ConfigError(
            f"{name}: expected a mapping with user_agent and sites, found {_KINDS.get(type(tree).__name__, 'a single value')}."
        )
    try:
        head = _File.model_validate(_plain(tree))
    except ValidationError as error:
        raise ConfigError(_describe(error, tree, name, _File)) from None
    defaults = _plain(tree.get("defaults") or {})
    merged = [_merge(defaults, _plain(site)) if isinstance(site, Mapping) else site for site in tree.get("sites") or []]
    try:
        return SitesConfig.model_validate({**head.model_dump(include={"user_agent", "first_crawl_date", "processes"}), "sites": merged})
    except ValidationError as error:
        raise ConfigError(_describe(error, tree, name, SitesConfig)) from None


def _plain(node: Any) -> Any:
    """ruamel's round-trip nodes as plain Python values (merge keys applied)."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_plain(value) for value in node]
    if isinstance(node, bool) or node is None:
        return node
    for plain_type in (int, float, str):
        if isinstance(node, plain_type):
            return plain_type(node)
    return node


def _merge(base: Any, own: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(own, Mapping):
        return {**base, **{key: _merge(base.get(key), value) for key, value in own.items()}}
    return own


def _describe(error: ValidationError, tree: Any, name: str, model: type[BaseModel]) -> str:
    lines = []
    wrong = [problem["loc"] for problem in error.errors()]
    for problem in error.errors():
        if problem["type"] == "too_short" and any(other[:-1] == problem["loc"] for other in wrong):
            continue  # only because its items are wrong
        path = [part for part in problem["loc"] if not (isinstance(part, str) and part.startswith(("function-", "tuple[", "literal[")))]
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(path[-1]), _valid_keys(model, path[:-1]), n=1, cutoff=0.5)
            message = f"unknown key {path[-1]!r}" + (f", did you mean {near[0]!r}?" if near else "")
        elif problem["type"] == "missing":
            message = f"the key {path[-1]!r} is missing"
            path = path[:-1]
        elif problem["type"] == "twice":
            path = _second_place(tree, problem["ctx"]["domain"])
        elif path:
            message = f"{'.'.join(str(part) for part in path)}: {message}"
        lines.append(f"{name}:{_line(tree, path)}: {message}{'' if message.endswith('?') else '.'}")
    return "\n".join(dict.fromkeys(lines))


def _second_place(tree: CommentedMap, domain: str) -> list[Any]:
    """Path of the second site of that domain."""
    places = [place for place, site in enumerate(tree["sites"]) if check_domain(str(site["domain"])) == domain]
    return ["sites", places[1], "domain"]


def _line(tree: Any, path: list[Any]) -> int:
    """1-based line of the node at `path`, or of the nearest one above it that has a place in the file."""
    line = 1
    node = tree
    for part in path:
        try:
            if isinstance(node, CommentedMap) and part in node:
                line = node.lc.key(part)[0] + 1
                node = node[part]
            elif isinstance(node, CommentedSeq):
                line = node.lc.item(part)[0] + 1
                node = node[part]
            elif isinstance(node, (dict, list)):  # around a file that has only a part
                node = node[part]
            else:
                break
        except (KeyError, IndexError, TypeError, AttributeError):
            break
    return line


def _valid_keys(model: type[BaseModel], path: list[Any]) -> list[str]:
    """Field names allowed at `path` under `model`."""
    current: Any = Site if path[:1] == ["sites"] else model
    rest = path[2:] if path[:1] == ["sites"] else path
    for part in rest:
        field = getattr(current, "model_fields", {}).get(part) if isinstance(part, str) else None
        if field is None:
            continue
        inner = [field.annotation, *getattr(field.annotation, "__args__", ())]
        current = next((kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)), current)
    return list(getattr(current, "model_fields", {}))
