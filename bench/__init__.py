"""Programs that measure Trawl; each fetches or makes its input under bench/.cache and ends with one JSON line."""
