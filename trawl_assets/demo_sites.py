"""Serves the demo's sites for a home that `make demo` made: `python -m trawl_assets.demo_sites HOME`, until stopped."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from pathlib import Path

from trawl_assets.demo import PORTS_FILE
from trawl_core.demo import serve_demo


def main(home: Path) -> None:
    with serve_demo(1, json.loads((home / PORTS_FILE).read_text())), suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
