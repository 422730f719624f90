"""What the demo sites say, written for this project. `trawl_core.demo.entries` describes the format."""
