"""bench.stages reads what a night's assets left in a real Dagster instance."""

import time

import dagster as dg

from bench.stages import stage_rows


@dg.asset(partitions_def=dg.StaticPartitionsDefinition(["a", "b"]))
def pages(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    size = 3 if context.partition_key == "a" else 5
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": size,
            "stage_seconds": dg.MetadataValue.float(0.5),
            "stage_cpu_seconds": dg.MetadataValue.float(0.25),
            "stage_peak_rss_mb": dg.MetadataValue.float(100.0 * size),
        }
    )


@dg.asset
def catalog() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"stage_seconds": 1.5})


def test_partitions_are_summed_and_unknown_figures_stay_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    before = time.time()
    with dg.DagsterInstance.get() as instance:
        for key in ("a", "b"):
            dg.materialize([pages], instance=instance, partition_key=key)
        dg.materialize([catalog], instance=instance)
    rows = stage_rows(tmp_path, before, time.time())
    assert rows == [
        {"stage": "pages", "rows": 8, "seconds": 1.0, "cpu_s": 0.5, "peak_rss_mb": 500.0},
        {"stage": "catalog", "rows": None, "seconds": 1.5, "cpu_s": None, "peak_rss_mb": None},
    ]
    assert stage_rows(tmp_path, before - 100, before - 50) == []
