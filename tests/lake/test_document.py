from pathlib import Path

from trawl_core.lake.document import document


def test_the_page_of_tables_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "tables.md"
    assert page.read_text() == document(), "run: python -m trawl_core.lake.document > docs/tables.md"
