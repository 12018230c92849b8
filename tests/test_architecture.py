"""What may import what, and what is exported: read off the syntax trees."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zenoh_la

ROOT = Path(zenoh_la.__file__).parent

# Each room may import those before it and itself.
LAYERS = [
    "errors",
    "values",
    "keys",
    "encoders",
    "tracks",
    "router_plugin",
    "session",
    "ext",
    "storage",
    "rest_bridge",
    "cli",
]
FREE_OF_ZENOH = {"errors", "values", "keys", "encoders", "tracks"}


def modules() -> list[str]:
    return [m.name for m in pkgutil.walk_packages(zenoh_la.__path__, "zenoh_la.")]


def source(name: str) -> Path:
    path = ROOT.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name: str) -> str:
    return name.split(".")[1]


@pytest.mark.parametrize("name", [m for m in modules() if m != "zenoh_la.__main__"])
def test_arrows_point_one_way(name: str) -> None:
    allowed = LAYERS[: LAYERS.index(room(name)) + 1]
    for imported in imports(ast.parse(source(name).read_text())):
        package, _, rest = imported.partition(".")
        assert package not in LAYERS, f"{imported}: a second class object"
        if package == "zenoh_la" and rest:
            own = rest.split(".")[0]
            assert own in allowed or own == "__version__", f"{name} imports {imported}"
        if room(name) in FREE_OF_ZENOH:
            assert package != "zenoh", f"{name} imports {imported}"


def test_the_order_of_x_and_y_stays_in_two_modules() -> None:
    knows = set()
    for name in modules():
        for node in ast.walk(ast.parse(source(name).read_text())):
            if isinstance(node, ast.Import) and any(a.name == "shapely" for a in node.names):
                knows.add(name)
    assert knows == {"zenoh_la.values.planar", "zenoh_la.values.rings"}


def test_the_rooms_are_all_there() -> None:
    assert {room(name) for name in modules()} == {*LAYERS, "__main__"}


def test_modules_and_functions_are_short() -> None:
    for name in modules():
        text = source(name).read_text()
        assert len(text.splitlines()) <= 350, name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - (node.body[0].end_lineno or 0)
                assert length <= 45, f"{name}.{node.name}"


def test_all_is_sorted_and_there() -> None:
    for name in ("zenoh_la", "zenoh_la.encoders", "zenoh_la.errors", "zenoh_la.router_plugin",
                 "zenoh_la.values"):  # fmt: skip
        module = importlib.import_module(name)
        assert list(module.__all__) == sorted(module.__all__), name
        for public in module.__all__:
            assert getattr(module, public).__doc__, f"{name}.{public} says nothing"
        assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = zenoh_la.nonsense


def test_every_error_is_in_the_tree_and_exported() -> None:
    from zenoh_la import errors

    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.ZenohLaError)
        assert name in zenoh_la.__all__
        assert name in (errors.__doc__ or ""), f"{name} is missing in the drawing"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_decoding_loads_neither_zenoh_nor_spark() -> None:
    loaded = loaded_by("import zenoh_la.encoders")
    assert "shapely" in loaded
    assert not loaded & {"zenoh", "pyspark", "typer", "rich"}


def test_importing_the_package_loads_nothing() -> None:
    assert not loaded_by("import zenoh_la") & {"zenoh", "shapely", "numpy", "pyproj"}
