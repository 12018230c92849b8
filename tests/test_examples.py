"""The examples do what their README shows, alone and on a network that is there already."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.network import DEADLINE_S, RouterProcess, router

EXAMPLES = Path(__file__).parent.parent / "examples"
SHOWN: dict[str, str] = dict(
    re.findall(
        r"```console\n\$ python examples/(\w+)\.py\n(.*?)```",
        (EXAMPLES / "README.md").read_text(),
        re.DOTALL,
    )
)


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_readme_shows_them_all() -> None:
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"little_network"}
    assert SHOWN.keys() == programs
    assert len(programs) == 5


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_alone(name: str) -> None:
    assert run(name) == SHOWN[name]


@pytest.fixture(scope="module")
def existing() -> Iterator[RouterProcess]:
    with router() as process:
        yield process


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_on_a_network_that_is_there(name: str, existing: RouterProcess) -> None:
    assert run(name, "--connect", existing.endpoint) == SHOWN[name]
