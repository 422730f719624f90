"""The code location as Dagster loads it."""

from __future__ import annotations

import os
import subprocess
import sys

import dagster as dg
import pytest

from trawl_assets.assets.specs import BATCH
from trawl_assets.definitions import defs
from trawl_assets.jobs import DAILY, NIGHTLY
from trawl_assets.partitions import crawl_dates, date_domain
from trawl_assets.preview import SHOWN
from trawl_core.lake.schemas import TABLES

GROUPS = {
    "crawl": {"crawl_plan", "warc_snapshot"},
    "extraction": {"pages", "structured_data"},
    "duplicates": {"fingerprints", "duplicates"},
    "changes": {"changes", "url_history", "crawl_report"},
    "search": {"chunks", "faiss_index"},
    "catalog": {"catalog"},
}
NODES = {node.key.to_user_string(): node for node in defs.resolve_asset_graph().asset_nodes}


def upstream(asset: str) -> set[str]:
    return {key.to_user_string() for key in NODES[asset].parent_keys}


def test_every_asset_of_the_flow_is_there_in_its_group() -> None:
    found: dict[str, set[str]] = {}
    for name, node in NODES.items():
        found.setdefault(node.group_name, set()).add(name)
    assert found == GROUPS


@pytest.mark.parametrize("name", sorted(NODES))
def test_an_asset_tells_what_it_is(name: str) -> None:
    node = NODES[name]
    [spec] = [spec for spec in defs.resolve_all_asset_specs() if spec.key == node.key]
    assert spec.description
    assert spec.kinds
    assert spec.owners == ["team:trawl"]


@pytest.mark.parametrize("name", [*NIGHTLY, *DAILY])
def test_partitioned_assets_share_partitions_and_batches(name: str) -> None:
    node = NODES[name]
    assert node.partitions_def == (date_domain if name in NIGHTLY else crawl_dates)
    assert node.backfill_policy == dg.BackfillPolicy.multi_run(BATCH)
    assert node.code_version


@pytest.mark.parametrize("name", [*NIGHTLY, "duplicates", "crawl_report"])
def test_tables_show_their_documented_columns(name: str) -> None:
    table = "captures" if name == "warc_snapshot" else name
    columns = NODES[name].metadata["dagster/column_schema"].columns
    assert [column.name for column in columns] == TABLES[table].schema.names
    assert all(column.description for column in columns)


def test_edges_follow_the_flow() -> None:
    assert upstream("warc_snapshot") == {"crawl_plan"}
    assert upstream("pages") == {"warc_snapshot"}
    assert upstream("fingerprints") == upstream("chunks") == {"pages"}
    assert upstream("duplicates") == {"fingerprints"}
    assert upstream("faiss_index") == {"chunks", "duplicates"}
    assert upstream("changes") == {"warc_snapshot", "pages", "structured_data", "fingerprints"}
    assert upstream("url_history") == {"warc_snapshot", "changes"}
    assert upstream("catalog") == {"crawl_report", "faiss_index"}


def test_the_catalog_waits_for_every_table() -> None:
    behind, todo = set(), ["catalog"]
    while todo:
        found = upstream(todo.pop()) - behind
        behind |= found
        todo += found
    assert behind == set(NODES) - {"catalog"}


def test_blocking_checks_block_and_warnings_do_not() -> None:
    specs = {f"{spec.asset_key.to_user_string()}.{spec.name}": spec.blocking for spec in _check_specs()}
    assert {name for name, blocking in specs.items() if not blocking} == {
        "crawl_report.error_rate",
        "crawl_report.oldest_page",
        "url_history.page_count",
        "duplicates.cluster_share",
        "faiss_index.index_holds_chunks",
        "pages.gate_agrees",
        "structured_data.schemas_match",
    }
    assert {"warc_snapshot.archive_verifies", "pages.pages_lead_to_records"} <= set(specs)
    assert {f"{name}.matches_schema" for name in [*NIGHTLY, "duplicates", "crawl_report"] if name != "crawl_plan"} <= set(specs)


def _check_specs() -> list[dg.AssetCheckSpec]:
    graph = defs.resolve_asset_graph()
    return [graph.get_check_spec(key) for key in graph.asset_check_keys]


def test_samples_name_columns_that_exist() -> None:
    assert set(SHOWN) == {"captures" if name == "warc_snapshot" else name for name in [*NIGHTLY, "duplicates", "crawl_report"]}
    for table, columns in SHOWN.items():
        assert set(columns) <= set(TABLES[table].schema.names), table


def test_loading_prints_nothing() -> None:
    code = "import trawl_assets.definitions as location; location.defs.resolve_all_job_defs()"
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (0, "", "")
