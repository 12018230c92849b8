"""Ours have all that Zenoh's classes have, with the same parameters; more is optional.

Compared with the stub of the installed package and with the compiled classes: when Zenoh adds a
method, a property or a parameter, these tests fail.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from inspect import Parameter
from pathlib import Path
from typing import Any

import pytest
import zenoh
import zenoh.ext

import zenoh_la
import zenoh_la.ext
from zenoh_la import session
from zenoh_la.session import handlers

STUBS = Path(zenoh.__file__).parent
OURS: dict[type, list[type]] = {
    zenoh.Session: [zenoh_la.LocationSession],
    zenoh.Publisher: [session.Publisher],
    zenoh.Subscriber: [
        session.Subscriber,
        zenoh_la.MobilitySubscriber,
        zenoh_la.PullSubscriber,
    ],
    zenoh.Queryable: [session.Queryable],
    zenoh.Querier: [session.Querier],
    zenoh.Query: [zenoh_la.LocatedQuery],
    zenoh.Sample: [zenoh_la.LocatedSample],
    zenoh.Reply: [zenoh_la.LocatedReply],
    zenoh.MatchingListener: [session.MatchingListener],
    zenoh.MatchingStatus: [session.MatchingStatus],
    zenoh.handlers.Handler: [handlers.Handler],
}
_EMPTY = Parameter.empty


class Stub:
    """The classes and functions of a stub: their parameters, or None for a property."""

    def __init__(self, source: str) -> None:
        self.classes: dict[str, dict[str, list[Parameter] | None]] = {}
        self.functions: dict[str, list[Parameter]] = {}
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                functions = [n for n in node.body if isinstance(n, ast.FunctionDef)]
                members = self.classes[node.name] = {}
                for function in functions:
                    members.setdefault(function.name, _member(function))
            elif isinstance(node, ast.FunctionDef):
                self.functions.setdefault(node.name, _parameters(node.args))


def _member(function: ast.FunctionDef) -> list[Parameter] | None:
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    return None if "property" in decorators else _parameters(function.args)[1:]


def _parameters(arguments: ast.arguments) -> list[Parameter]:
    """The parameters in order; of overloads the first is given, where the handler is optional."""
    found = []
    given = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(given) - len(arguments.defaults)) + list(arguments.defaults)
    for number, (argument, default) in enumerate(zip(given, defaults, strict=True)):
        only = number < len(arguments.posonlyargs)
        kind = Parameter.POSITIONAL_ONLY if only else Parameter.POSITIONAL_OR_KEYWORD
        found.append(Parameter(argument.arg, kind, default=_value(default)))
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(argument.arg, Parameter.KEYWORD_ONLY, default=_value(default)))
    if arguments.kwarg:
        found.append(Parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return found


def _value(default: ast.expr | None) -> Any:
    return _EMPTY if default is None else ast.literal_eval(default)


def _of(function: Callable[..., Any], *, bound: bool) -> list[Parameter]:
    found = list(inspect.signature(function).parameters.values())
    return [p.replace(annotation=_EMPTY) for p in found[bound:]]


def _differences(name: str, theirs: list[Parameter], ours: list[Parameter]) -> list[str]:
    """What of their parameters is not in ours as it is in theirs, and what is ours but required."""
    names = {parameter.name for parameter in theirs}
    shared = [parameter for parameter in ours if parameter.name in names]
    found = [f"{name}: {theirs} became {shared}"] if shared != theirs else []
    for extra in ours:
        optional = extra.kind is Parameter.KEYWORD_ONLY and extra.default is not _EMPTY
        if extra.name not in names and not optional:
            found.append(f"{name}: {extra} is ours, and not an optional keyword")
    return found


def _compared(stub: Stub, native: type, ours: type) -> list[str]:
    """All differences of a class from the stub's and from the compiled one."""
    members = dict(stub.classes[native.__name__])
    for name in dir(native):
        if not name.startswith("_") and name not in members:
            member = getattr(native, name)
            members[name] = _of(member, bound=True) if callable(member) else None
    members.pop("__new__", None)  # they are made by the session
    found = []
    for name, parameters in members.items():
        member = inspect.getattr_static(ours, name, None)
        where = f"{ours.__name__}.{name}"
        if member is None:
            found.append(f"{where} is missing")
        elif parameters is None or not callable(member):
            if (parameters is None) == callable(member):
                found.append(f"{where} is not what it is in Zenoh: a method, or a property")
        else:
            found += _differences(where, parameters, _of(member, bound=True))
    return found


def _stub(name: str) -> str:
    return (STUBS / name).read_text()


def _stub_of(native: type) -> str:
    return _stub("handlers.pyi" if native is zenoh.handlers.Handler else "__init__.pyi")


PAIRS = [(native, one) for native, ours in OURS.items() for one in ours]


@pytest.mark.parametrize(("native", "ours"), PAIRS, ids=[one.__name__ for _, one in PAIRS])
def test_a_class_has_all_that_zenohs_has(native: type, ours: type) -> None:
    assert _compared(Stub(_stub_of(native)), native, ours) == []


@pytest.mark.parametrize("native", OURS, ids=[native.__name__ for native in OURS])
def test_the_stub_says_what_the_compiled_class_has(native: type) -> None:
    members = Stub(_stub_of(native)).classes[native.__name__]
    for name in [n for n in dir(native) if not n.startswith("_")]:
        member, parameters = getattr(native, name), members[name]
        assert callable(member) == (parameters is not None), name
        if parameters is not None:
            assert _of(member, bound=True) == parameters, name


@pytest.mark.parametrize(("native", "ours"), PAIRS, ids=[one.__name__ for _, one in PAIRS])
def test_what_zenoh_may_add_is_noticed(native: type, ours: type) -> None:
    head = f"class {native.__name__}"
    lines = _stub_of(native).splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith((f"{head}:", f"{head}("))]
    added = [*lines[: at + 1], "    def brand_new(self): ...", *lines[at + 1 :]]
    assert _compared(Stub("\n".join(added)), native, ours) == [
        f"{ours.__name__}.brand_new is missing"
    ]
    for name, parameters in Stub("\n".join(lines)).classes[native.__name__].items():
        if parameters is None or name == "__new__":
            continue
        member = _of(inspect.getattr_static(ours, name), bound=True)
        new = Parameter("brand_new", Parameter.KEYWORD_ONLY, default=None)
        more = [p for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
        assert _differences(name, [*more, new], member), name
        if parameters:
            changed = [parameters[0].replace(name="other"), *parameters[1:]]
            assert _differences(name, changed, member), name


def test_open_is_zenohs_with_an_optional_configuration() -> None:
    theirs = Stub(_stub("__init__.pyi")).functions["open"]
    assert _of(zenoh.open, bound=False) == theirs
    theirs[0] = theirs[0].replace(default=None)
    assert _differences("open", theirs, _of(zenoh_la.open, bound=False)) == []


def test_liveliness_and_information_are_zenohs_own() -> None:
    configuration = zenoh.Config.from_json5(
        '{"listen": {"endpoints": []}, "scouting": {"multicast": {"enabled": false}}}'
    )
    with zenoh_la.open(configuration) as opened:
        assert type(opened.liveliness()) is zenoh.Liveliness
        assert type(opened.info) is zenoh.SessionInfo
        assert type(opened.id) is zenoh.EntityGlobalId
        assert type(opened.new_timestamp()) is zenoh.Timestamp
        assert str(opened.zid()) == str(opened.info.zid())


def test_ext_has_every_name_of_zenohs() -> None:
    stub = Stub(_stub("ext.pyi"))
    names = {name for name in dir(zenoh.ext) if not name.startswith("_")}
    names |= {name for name in [*stub.classes, *stub.functions] if not name.startswith("_")}
    assert sorted(names) == sorted(zenoh_la.ext.__all__)
    own = ["declare_advanced_publisher", "declare_advanced_subscriber"]
    for name in names.difference(own):
        assert getattr(zenoh_la.ext, name) is getattr(zenoh.ext, name), name
    for name in own:
        ours = _of(getattr(zenoh_la.ext, name), bound=False)
        assert ours == _of(getattr(zenoh.ext, name), bound=False) == stub.functions[name]
