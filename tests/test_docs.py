"""What the documentation shows is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import zenoh_la
from zenoh_la.cli import app

REPOSITORY = Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(zenoh_la.__path__, "zenoh_la.")]
README = (REPOSITORY / "README.md").read_text()


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_in_docstrings(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(bool(test.examples) for test in tests) > 10


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_readme_python(capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
        promised = re.findall(r"print\(.*?# (.*)", block)
        assert capsys.readouterr().out.splitlines() == promised


def test_readme_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line that begins with `$ zla` works and prints just what stands below it."""
    monkeypatch.chdir(tmp_path)
    seen = 0
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *promised = part.splitlines()
            if not command.startswith("zla "):
                continue
            code = app(shlex.split(command)[1:], standalone_mode=False)
            assert (code or 0) == promised[0].startswith("no:"), command
            printed = capsys.readouterr().out.splitlines()
            assert len(printed) == len(promised), command
            for said, line in zip(printed, promised, strict=True):
                assert said.startswith(line[:-1]) if line.endswith("…") else said == line
            seen += 1
    assert seen >= 4
