"""What the documentation shows is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import zenoh_la
from tests.network import DEADLINE_S, endpoint, native_client, router, statuses, wait_for
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


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/SESSIONS.md"])
def test_python_on_a_page(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("python", (REPOSITORY / page).read_text()):
        exec(compile(block, page, "exec"), {})
        promised = re.findall(r"print\(.*?# (.*)", block)
        assert capsys.readouterr().out.splitlines() == promised


def test_readme_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line that begins with `$ zla key` works and prints just what stands below it."""
    monkeypatch.chdir(tmp_path)
    seen = 0
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *promised = part.splitlines()
            if not command.startswith("zla key "):
                continue
            code = app(shlex.split(command)[1:], standalone_mode=False)
            assert (code or 0) == promised[0].startswith("no:"), command
            printed = capsys.readouterr().out.splitlines()
            assert len(printed) == len(promised), command
            for said, line in zip(printed, promised, strict=True):
                assert said.startswith(line[:-1]) if line.endswith("…") else said == line
            seen += 1
    assert seen >= 4


def test_readme_network() -> None:
    """The commands of the block with `zla router` do together what the README says."""
    (block,) = [block for block in blocks("console") if "$ zla router" in block]
    own = endpoint()
    lines = [re.sub(r"tcp/\S+:7447", own, line.removeprefix("$ ")) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines]
    start, listen, *others = commands
    assert start == ["router", "--listen", own]
    with router(listen=own):
        listening = subprocess.Popen(
            [sys.executable, "-m", "zenoh_la", *listen, "--count", "1"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            with native_client(own) as observer:
                wait_for(
                    lambda: any(s["interests"] == 1 for s in statuses(observer).values()),
                    "the subscriber's interest",
                )
            codes = {command[0]: zla(*command) for command in others}
            out, _ = listening.communicate(timeout=DEADLINE_S)
        finally:
            listening.kill()
            listening.wait(DEADLINE_S)
    assert "21.5" in out
    assert "46.52" in out
    assert codes == {"pub": 0, "get": 1, "nodes": 0}, "nobody answers the get"


def zla(*arguments: str) -> int:
    run = subprocess.run(
        [sys.executable, "-m", "zenoh_la", *arguments],
        capture_output=True,
        check=False,
        timeout=DEADLINE_S,
    )
    return run.returncode
