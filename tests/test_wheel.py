"""The wheel holds all there is, and works where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("ZLA_TEST_INSTALLED")), reason="runs against an installed wheel already"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", out, REPOSITORY],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (built,) = out.glob("*.whl")
    return built


def test_it_holds_every_module_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = {"zenoh_la": "zenoh_la", "encoders": "zenoh_la/encoders"}
    folders["rest_bridge"] = "zenoh_la/rest_bridge"
    folders["router_plugin"] = "zenoh_la/router_plugin"
    expected = {"zenoh_la/py.typed"}
    for folder, target in folders.items():
        found = (REPOSITORY / folder).rglob("*")
        for path in (path for path in found if path.suffix in (".py", ".html", ".css", ".js")):
            inner = path.relative_to(REPOSITORY / folder)
            if folder != "zenoh_la" or inner.parts[0] not in folders:
                expected.add(f"{target}/{inner}")
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_it_works_away_from_the_work_tree(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel],
        check=True,
        capture_output=True,
        timeout=300,
    )
    run = subprocess.run(
        [
            sys.executable,
            "-P",
            target / "bin" / "zla",
            "key",
            "match",
            "zla_m_10SGJ06",
            "zla_m_10S",
        ],
        env={**os.environ, "PYTHONPATH": str(target)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (run.returncode, run.stdout) == (0, "yes: 10SGJ06 lies in 10S\n"), run.stderr
    where = subprocess.run(
        [sys.executable, "-P", "-c", "import zenoh_la.encoders as e; print(e.__file__)"],
        env={**os.environ, "PYTHONPATH": str(target)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert str(target) in where.stdout
