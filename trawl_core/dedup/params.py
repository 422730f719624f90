"""The name of the parameters that fingerprints were made with; fingerprints of two names can't be compared."""

from __future__ import annotations

from trawl_core.dedup.bands import BANDS, ROWS
from trawl_core.dedup.minhash import PERMUTATIONS, SEED
from trawl_core.dedup.text import MINHASH_WIDTH, SIMHASH_WIDTH
from trawl_core.errors import SchemaError

PARAMS_ID = f"affine32-sha1-seed{SEED}-perm{PERMUTATIONS}-word{MINHASH_WIDTH}-bands{BANDS}x{ROWS}-simhash{SIMHASH_WIDTH}-tokens1"


def require_comparable(found: set[str | None], where: str) -> None:
    """Raises SchemaError when one of the params_ids `found` in `where` is not today's: bands and signatures made with another
    hash, seed or shingle width never match, and a silent miss would look like "no duplicates"."""
    if other := sorted(str(params) for params in found if params != PARAMS_ID):
        raise SchemaError(
            f"comparing the fingerprints of {where}: they were made with {', '.join(other)}, this version compares {PARAMS_ID}. "
            "Materialize `fingerprints` of that partition again, then `duplicates`."
        )
