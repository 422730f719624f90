"""What the assets work with: the home of this process, its lake, its sites and its clock."""

from __future__ import annotations

from functools import cached_property

import dagster as dg

from trawl_core.clock import Clock, clock_from_env
from trawl_core.home import Home
from trawl_core.lake import Lake
from trawl_core.sites import Site, SitesConfig, load_sites


class Trawl(dg.ConfigurableResource):
    """The home that TRAWL_HOME names. sites.yaml is read anew by each run, so an edit needs no reload."""

    @cached_property
    def home(self) -> Home:
        return Home.from_env()

    @cached_property
    def lake(self) -> Lake:
        return Lake(self.home.lake_url)

    @cached_property
    def config(self) -> SitesConfig:
        return load_sites(self.home.sites_file)

    def site(self, domain: str | None) -> Site:
        """The settings for stages that only derive: those of sites.yaml, or plain ones where the site was taken out."""
        known = next((site for site in self.config.sites if site.domain == domain), None)
        return known or Site(domain=domain or "", seeds=(f"https://{domain}/",))

    @cached_property
    def clock(self) -> Clock:
        return clock_from_env()
