"""Entry point: finds the command, runs it, turns errors into one paragraph and an exit status."""

from __future__ import annotations

import os
import sqlite3
import sys
from importlib import import_module
from importlib.metadata import entry_points

import click

from trawl_core import __version__
from trawl_core.errors import TrawlError, explain_os_error

COMMANDS = {
    "sites": "trawl_core.cli.sites:sites",
    "plan": "trawl_core.cli.plan:plan",
    "sql": "trawl_core.cli.sql:sql",
    "search": "trawl_core.cli.search:search",
    "changes": "trawl_core.cli.changes:changes",
    "show": "trawl_core.cli.archive:show",
    "verify": "trawl_core.cli.archive:verify",
    "repair": "trawl_core.cli.archive:repair",
    "import-warc": "trawl_core.cli.import_warc:import_warc",
    "export": "trawl_core.cli.export:export",
    "extract": "trawl_core.cli.extract:extract",
    "status": "trawl_core.cli.status:status",
}
PLUGINS = "trawl.commands"


class LazyGroup(click.Group):
    """Imports a command's module only when that command is asked for: `trawl --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *(entry.name for entry in entry_points(group=PLUGINS))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name].partition(":")
            return getattr(import_module(module), name)
        return next((entry.load() for entry in entry_points(group=PLUGINS) if entry.name == cmd_name), None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, SUMMARIES.get(name, "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


SUMMARIES = {
    "sites": "Check, list and add the sites of sites.yaml.",
    "plan": "What would be fetched, and why.",
    "crawl": "The nightly run, headless.",
    "sql": "Ask the catalog in DuckDB's SQL.",
    "search": "Search the corpus by meaning and by keyword.",
    "changes": "What changed between two crawls.",
    "show": "A URL's archived bytes, text and history.",
    "verify": "Archive, captures and tables against each other.",
    "repair": "Finish or salvage what a crash left.",
    "import-warc": "Take in WARC files that other programs wrote.",
    "export": "Archive and pages as WACZ, CDXJ index or JSON Lines.",
    "extract": "Selector schemas tried on an archived page.",
    "status": "Health of each site; exit 1 when something is overdue.",
}


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="trawl")
def cli() -> None:
    """Nightly recrawls of websites: WARC in, text, duplicates, changes and search out.

    The home is the folder that TRAWL_HOME names, ./data by default.

    Example: trawl sites add https://docs.example.org/ && trawl crawl && trawl search "connection pool"
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """Run the command line; returns the exit status, prints every expected error as one paragraph."""
    try:
        return cli.main(args, standalone_mode=False) or 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _complain(_usage(error), error.exit_code)
    except click.Abort:
        return _complain("stopped.", 130)
    except TrawlError as error:
        return _complain(str(error), error.exit_status)
    except sqlite3.OperationalError as error:
        return _complain(f"the state database can't be used: {error}. Is the disk full, or the home read-only?", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(str(explain_os_error(error, "using", error.filename or "the home")), 1)
    except KeyboardInterrupt:
        return _complain("stopped.", 130)


def _usage(error: click.ClickException) -> str:
    """Click's message as one paragraph that ends in where to read on."""
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "trawl"
    message = error.format_message()
    return f"{message}{'' if message.endswith(('.', '?', '!')) else '.'} `{where} --help` shows how it is written."


def _complain(message: str, status: int) -> int:
    click.echo(f"trawl: {message}", err=True)
    return status
