"""The description is true: schemathesis finds nothing wrong.

One of its checks cannot apply: that whatever it makes of a description by breaking it is refused.
Names that are not described are the topic's own, and `_zla=off` makes all of them so. What is to be
refused is in `test_mistakes.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rest_bridge.server import rest
from zenoh_la import BloomDomain, GeographicRange

WORLD = BloomDomain(GeographicRange(-90, -180, 90, 180), 10, 10, 0.01)
ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("examples", [15, pytest.param(300, marks=pytest.mark.long)])
def test_schemathesis_finds_nothing(tmp_path: Path, examples: int) -> None:
    grid = tmp_path / "grid.json"
    WORLD.to_file(grid)
    with rest("--bloom-domain", str(grid)) as bridge:
        run = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", f"{bridge.url}/@zla/openapi.json",
             "--max-examples", str(examples), "--seed", "1", "--no-color",
             "--exclude-checks", "negative_data_rejection"],
            env={
                **os.environ,
                "SCHEMATHESIS_HOOKS": "tests.rest_bridge.schemathesis_hooks",
                "PYTHONPATH": str(ROOT),
            },
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=540,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
        assert "Tested: 12" in run.stdout
        assert bridge.process.poll() is None
        assert bridge.stop(15) == 0
    assert bridge.err == []
