"""Suites as dictionaries, and placers as functions."""

from __future__ import annotations

import hashlib
import inspect
import json
import numbers
import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from ._placebench import Cluster, Error, Graph, Instance

Function = Callable[[Instance, int], Sequence["int | str"]]


class PlacerFunction:
    """A function that places, with its name in tables. Made by ``placebench.placer``; it can be called like the function."""

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.name = name
        self.__doc__ = function.__doc__

    def __call__(self, instance: Instance, seed: int) -> Sequence[int | str]:
        return self.function(instance, seed)

    def __repr__(self) -> str:
        return f"<placebench.placer '{self.name}'>"


@overload
def placer(function: Function, /, *, name: str | None = None) -> PlacerFunction: ...
@overload
def placer(function: None = None, /, *, name: str | None = None) -> Callable[[Function], PlacerFunction]: ...
def placer(
    function: Function | None = None, /, *, name: str | None = None
) -> PlacerFunction | Callable[[Function], PlacerFunction]:
    """Makes a function a placer, for ``place`` and for the ``placers`` of a suite.

    The function gets an ``Instance`` and a seed, from which it takes all randomness, and answers with a device for each op, by
    number or name. It may raise ``placebench.Infeasible``. Its name in tables is its own, or ``name``.

    >>> @placebench.placer
    ... def first_device(instance, seed):
    ...     return [0] * instance.graph.op_count
    """

    def made(function: Function) -> PlacerFunction:
        called = name or str(getattr(function, "__name__", ""))
        if not re.fullmatch(r"[A-Za-z0-9_-]+", called):
            raise Error(f"placer '{called}': name: use letters, digits, '-' and '_'")
        try:
            inspect.signature(function).bind(None, 0)
        except TypeError:
            raise Error(f"placer '{called}': a placer takes two arguments, an instance and a seed") from None
        return PlacerFunction(function, called)

    return made if function is None else made(function)


def with_functions(suite: Mapping[str, Any]) -> tuple[dict[str, Any], list[PlacerFunction]]:
    """The suite with a ``[[placer]]`` table in the place of each function among its placers, and those functions."""
    table = dict(suite)
    placers = table.get("placers", [])
    if isinstance(placers, str) or not isinstance(placers, Sequence):
        return table, []
    for found in placers:
        if callable(found) and not isinstance(found, PlacerFunction):
            raise Error(f"suite: placers: {found!r} is a plain function: put @placebench.placer before it")
    functions = [found for found in placers if isinstance(found, PlacerFunction)]
    table["placers"] = [found for found in placers if not isinstance(found, PlacerFunction)]
    if functions:
        entries = [{"name": found.name, "function": where_of(found)} for found in functions]
        table["placer"] = [*table.get("placer", []), *entries]
    return table, functions


def where_of(found: PlacerFunction) -> str:
    """Where a function is, for people: ``module:function``."""
    module = getattr(found.function, "__module__", None) or "?"
    return f"{module}:{getattr(found.function, '__qualname__', found.name)}"


def digest_of(found: PlacerFunction) -> str:
    """What tells this state of a function from others, so that no run mixes two: the SHA-256 of its text or its code."""
    try:
        text = inspect.getsource(found.function).encode()
    except (OSError, TypeError):
        code = getattr(found.function, "__code__", None)
        text = repr((code.co_code, code.co_consts)).encode() if code else repr(type(found.function)).encode()
    return hashlib.sha256(text).hexdigest()


def in_memory(table: Mapping[str, Any]) -> str | None:
    """The first graph or cluster of a suite that is no file, for a message."""
    for key in ("graph", "cluster"):
        entries = table.get(key, [])
        for entry in entries if isinstance(entries, Sequence) else []:
            if isinstance(entry, (Graph, Cluster)):
                return f"the {key} '{entry.name}'"
    return None


def as_json(table: Mapping[str, Any], place: str, folder: str | None = None) -> str:
    """A table as JSON. With a folder, graphs and clusters in it are written there, and named."""

    def plain(value: Any) -> Any:
        if isinstance(value, (Graph, Cluster)) and folder is not None:
            path = pathlib.Path(folder, f"{len(os.listdir(folder))}{'' if isinstance(value, Graph) else '.toml'}")
            value.save(path)
            return {"name": value.name, "file": str(path)}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, numbers.Integral):
            return int(value)
        if isinstance(value, numbers.Real):
            return float(value)
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, (Sequence, set, frozenset)) or hasattr(value, "tolist"):
            return list(value)
        raise Error(f"{place}: {value!r} has no place in it: give texts, numbers, lists and dictionaries")

    try:
        return json.dumps(dict(table), default=plain, allow_nan=False)
    except ValueError as error:
        raise Error(f"{place}: {error}") from None
