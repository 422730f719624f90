"""The `trawl` command: a thin layer over the library.

Exit status: 0 fine, 1 found a problem, 2 wrong usage. Output is for people on a terminal and plain when piped;
`--json` where a program reads it. Commands that need Dagster come from `trawl_assets` through the entry-point
group `trawl.commands`.
"""

from trawl_core.cli.main import main

__all__ = ["main"]
