"""Three sample sites with two nights each, their servers, and the truth about them.

Reads: nothing of the lake. Writes: nothing. Promises: the same bytes for the same site, night and origin.
"""

from trawl_core.demo.content import Answer, SiteContent
from trawl_core.demo.server import DemoServer
from trawl_core.demo.sites import HOSTS, Demo, build_site, demo_sites_yaml, serve_demo
from trawl_core.demo.truth import Expected, expected

__all__ = ["HOSTS", "Answer", "Demo", "DemoServer", "Expected", "SiteContent", "build_site", "demo_sites_yaml", "expected", "serve_demo"]
