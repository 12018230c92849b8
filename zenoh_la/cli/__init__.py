"""The command `zla`."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from zenoh_la import __version__
from zenoh_la.cli import (
    demo,
    key,
    live_map,
    nodes,
    publish,
    query,
    rest,
    router,
    storage,
    subscribe,
)
from zenoh_la.errors import ZenohLaError

app = typer.Typer(
    name="zla",
    help="Location-aware Eclipse Zenoh.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(demo.app, name="demo")
app.add_typer(key.app, name="key")
app.command("router")(router.router)
app.command("pub")(publish.pub)
app.command("sub")(subscribe.sub)
app.command("get")(query.get)
app.command("queryable")(query.queryable)
app.command("nodes")(nodes.nodes)
app.command("storage")(storage.storage)
app.command("rest")(rest.rest)
app.command("map")(live_map.live_map)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"zla {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs `zla`: exit code 0 for yes and done, 1 for no, 2 for a mistake, 70 for our fault."""
    try:
        app()
    except (ZenohLaError, OSError) as exc:
        typer.echo(f"zla: {exc}", err=True)
        sys.exit(2)
    except Exception:
        traceback.print_exc()
        sys.exit(70)  # a fault of ours; 1 would say "no match"
