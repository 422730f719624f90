"""The three demo sites: `build_site` gives what one says on a night, `serve_demo` serves all, `demo_sites_yaml` names them.

docs  127.0.0.2   about 120 pages of documentation
shop  127.0.0.3   about 40 products, a JSON file, a calendar without end
blog  127.0.0.4   news with a feed, a sitemap, and most things that go wrong
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial

from trawl_core.demo.blog_site import build_blog
from trawl_core.demo.content import SiteContent
from trawl_core.demo.docs_site import build_docs
from trawl_core.demo.server import DemoServer
from trawl_core.demo.shop_site import build_shop

HOSTS = {"docs": "127.0.0.2", "shop": "127.0.0.3", "blog": "127.0.0.4"}
"""Site name → its loopback address, which is also its domain in sites.yaml."""
CALENDAR_TRAP = "/events/"
"""Below this path the shop has pages without end."""


def build_site(name: str, night: int, origin: str | None = None) -> SiteContent:
    """What `docs`, `shop` or `blog` says on night 0 or 1; `origin` (default: port 80 of its host) stands in feed and sitemap."""
    if name == "docs":
        return build_docs(night)
    if name == "shop":
        return build_shop(night)
    if name == "blog":
        return build_blog(night, origin or f"http://{HOSTS[name]}")
    raise ValueError(f"there is no demo site {name!r}; they are {', '.join(HOSTS)}")


@dataclass(frozen=True)
class Demo:
    """The running servers by site name."""

    servers: Mapping[str, DemoServer]

    @property
    def ports(self) -> dict[str, int]:
        return {name: server.port for name, server in self.servers.items()}

    @property
    def origins(self) -> dict[str, str]:
        return {name: server.origin for name, server in self.servers.items()}

    def set_night(self, night: int) -> None:
        for server in self.servers.values():
            server.set_night(night)


@contextmanager
def serve_demo(night: int = 0, ports: Mapping[str, int] | None = None) -> Iterator[Demo]:
    """The three sites on loopback until the block ends; free ports where `ports` names none."""
    with ExitStack() as stack:
        wanted = ports or {}
        servers = {
            name: stack.enter_context(DemoServer(host, wanted.get(name, 0), partial(build_site, name))) for name, host in HOSTS.items()
        }
        demo = Demo(servers)
        demo.set_night(night)
        yield demo


def demo_sites_yaml(ports: Mapping[str, int], first_crawl_date: date) -> str:
    """The text of sites.yaml for servers at `ports` (by site name); it allows loopback and those ports only."""
    origins = {name: f"http://{HOSTS[name]}:{port}" for name, port in ports.items()}
    feeds = {"blog": f"\n    feeds: [{origins['blog']}/feed.xml]"} if "blog" in origins else {}
    sites = "\n".join(
        f"""  - domain: {HOSTS[name]}
    seeds: [{origin}/]{feeds.get(name, "")}
    network: {{allow_networks: [127.0.0.0/8], allow_ports: [{ports[name]}]}}"""
        for name, origin in origins.items()
    )
    return f"""# Made by the demo: three sites served on this machine's loopback addresses.
user_agent: "TrawlBot/1.0 (+https://example.org/bot; crawl@example.org)"
first_crawl_date: {first_crawl_date.isoformat()}
defaults:
  delay_s: 0                      # accepted only because every address of these sites is in an allowed network
  concurrency: 4
  host_concurrency: 8
  timeout: {{connect_s: 5, read_s: 10, total_s: 20}}
  budget: {{pages: 2000, depth: 200, minutes: 10}}
sites:
{sites}
"""
