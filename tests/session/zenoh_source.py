"""Zenoh's own examples and tests, from the source distribution of the installed version.

They are not in the wheel and not ours to copy: pip fetches the source from wherever it fetches
packages, once, into the user's cache. pip insists on asking a package for its metadata, which for
Zenoh needs a Rust compiler; a build backend that knows nothing but name and version does as well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

_NAME = "eclipse-zenoh"
_BACKEND = """
from pathlib import Path

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = Path(folder, "{stem}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return info.name
"""
_UNREACHABLE = "No matching distribution found"


def unpacked(folder: Path) -> Path:
    """The source of the installed Zenoh, in a folder; skips if no package index can be reached."""
    with tarfile.open(_fetched(folder)) as archive:
        archive.extractall(folder, filter="data")
    return folder / _stem()


def _stem() -> str:
    return f"{_NAME.replace('-', '_')}-{version(_NAME)}"


def _fetched(folder: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zenoh-la"
    archive = cache / f"{_stem()}.tar.gz"
    if not archive.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _download(folder, cache)
    return archive


def _download(folder: Path, cache: Path) -> None:
    backend = folder / "backend"
    backend.mkdir()
    text = _BACKEND.format(stem=_stem(), name=_NAME, version=version(_NAME))
    (backend / "maturin.py").write_text(text)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--retries", "1", "--timeout", "10"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "--no-binary", _NAME, "--dest", cache,
         f"{_NAME}=={version(_NAME)}"],
        env={**os.environ, "PYTHONPATH": str(backend)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if _UNREACHABLE in done.stderr or "No module named pip" in done.stderr:
        pytest.skip("Zenoh's examples are in its source distribution, and pip cannot fetch that")
    assert done.returncode == 0, done.stderr


def with_our_open(source: Path, target: Path) -> None:
    """Copies a folder of programs, with ``zenoh.open`` replaced by ``zenoh_la.open``."""
    for path in source.rglob("*.py"):
        text = path.read_text()
        if "zenoh.open(" in text:
            text = text.replace("zenoh.open(", "zenoh_la.open(")
            text = re.sub(r"(?m)^import zenoh$", "import zenoh\nimport zenoh_la", text, count=1)
            assert "import zenoh_la" in text, path
        # Zenoh's own functions refuse any session but its own.
        text = text.replace("from zenoh.ext import", "from zenoh_la.ext import")
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)
