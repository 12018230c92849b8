"""All measurements in one table: ``make bench``, or some of them: ``make bench ONLY=moves``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from time import monotonic

from benchmarks.rows import Row, show, write
from benchmarks.runs import tell

OUT = Path(".benchmarks/bench.json")
PARTS = {
    "encodings": "encodings_speed",
    "index": "index_speed",
    "network": "network_speed",
    "remote": "remote_speed",
    "links": "link_speed",
    "moves": "moves_speed",
    "clients": "clients_speed",
}


def main(chosen: list[str]) -> int:
    """Runs the parts; the exit code is 1 if one could not be run, whatever was measured."""
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    failed: dict[str, str] = {}
    for name in chosen or PARTS:
        tell(f"{name} …")
        start = monotonic()
        try:
            found = importlib.import_module(f"benchmarks.{PARTS[name]}").measured()
            rows += [one if isinstance(one, Row) else Row.from_plain(one) for one in found]
        except Exception as exc:  # the others are worth having
            failed[name] = f"{type(exc).__name__}: {exc}"
        tell(f"{name}: {monotonic() - start:.0f} s")
    show(rows, failed)
    write(rows, failed, OUT)
    print(f"written to {OUT}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main([name for given in sys.argv[1:] for name in given.replace(",", " ").split()]))
