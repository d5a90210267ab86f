"""placebench makes, places and judges dataflow graphs: on which device should each operation run, and how good is the answer?

>>> import placebench
>>> graph = placebench.load("nmt")
>>> found = placebench.place(graph, "gtx1080x4", "heft")
>>> results = placebench.run({"name": "mine", "placers": ["heft", "random"],
...                           "graph": [{"catalogue": "nmt"}], "cluster": [{"preset": "gtx1080x4"}]})

docs/PYTHON.md shows all of it. What is wrong raises ``placebench.Error`` with the message of the command line.
Ctrl-C stops what runs; other Python threads go on meanwhile.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _placebench
from ._definition import PlacerFunction, as_json, digest_of, in_memory, placer, with_functions
from ._networkx import from_networkx, to_networkx
from ._placebench import (
    Cluster,
    Error,
    Evaluation,
    Figure,
    Graph,
    Infeasible,
    Instance,
    Partition,
    Results,
    Stopped,
    Table,
    TimedOut,
    __version__,
    names,
    read_results,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    _Path = str | os.PathLike[str]
    _Placer = str | Callable[[Instance, int], Sequence[int | str]]

__all__ = [
    "Cluster",
    "Error",
    "Evaluation",
    "Figure",
    "Graph",
    "Infeasible",
    "Instance",
    "Partition",
    "PlacerFunction",
    "Results",
    "Stopped",
    "Table",
    "TimedOut",
    "__version__",
    "convert",
    "from_networkx",
    "generate",
    "load",
    "names",
    "partition",
    "place",
    "placer",
    "read_results",
    "run",
    "simulate",
    "to_networkx",
]


def __dir__() -> list[str]:
    """What is public, without the modules that are imported here."""
    return __all__


def load(
    source: _Path,
    *,
    seed: int = 0,
    cycles: str | None = None,
    references: bool = True,
    split: _Path | None = None,
    dims: Mapping[str, int] | None = None,
) -> Graph:
    """The graph of a name of the catalogue, a preset, or a file in any format that ``placebench list formats`` names.

    ``seed`` is for presets. ``cycles`` ('reject', 'next_iteration', 'drop', 'unroll(8)'), ``references``, ``split`` and ``dims``
    (sizes of named dimensions) are for formats that know them, as the options of ``placebench convert``.
    """
    return Graph.load(source, seed=seed, cycles=cycles, references=references, split=split, dims=dims)


def generate(what: str | Mapping[str, Any], *, seed: int = 0) -> Graph:
    """A generated graph: of a preset, or of parameters as in a suite's ``[[graph]]`` table.

    >>> generate("laich1", seed=7)
    >>> generate({"leveled": {"levels": 10, "nodes_per_level": [50, 150]}})
    """
    table = {"preset": what} if isinstance(what, str) else what
    return Graph.generate(as_json(table, "generate"), seed)


def convert(
    source: _Path,
    target: _Path,
    *,
    seed: int = 0,
    cycles: str | None = None,
    references: bool = True,
    split: _Path | None = None,
    dims: Mapping[str, int] | None = None,
    strict: bool = False,
    force: bool = False,
) -> list[str]:
    """Reads a graph as ``load`` does and writes it in the format of the target's extension.

    Answers with what that format cannot hold; with ``strict`` that is an error. ``force`` replaces an existing file.
    """
    graph = load(source, seed=seed, cycles=cycles, references=references, split=split, dims=dims)
    return graph.save(target, strict=strict, force=force)


def place(
    graph: Graph | _Path,
    cluster: Cluster | _Path = "gtx1080x4",
    placer: _Placer = "heft",
    *,
    scheduler: str | None = None,
    network: str = "contention_free",
    objective: str = "makespan",
    seed: int = 0,
    kinds: str | None = None,
    memory: str = "peak",
    devices: int | None = None,
    time_limit: float | None = None,
    passes: str | Iterable[str] = (),
    noise: float | str | None = None,
) -> Evaluation:
    """Places a graph on a cluster, simulates the placement, checks the simulation and measures it.

    ``placer`` is a name, with parameters as in 'scoring(alpha=2)', or a function of an instance and a seed, as
    ``placebench.placer`` describes. The other words are those of ``placebench place``; ``time_limit`` is in seconds
    of processor time. ``passes`` change the graph, as in ``["cse", "compress"]``: ``Evaluation.passed`` tells what they did.
    With ``noise``, as in 0.1 or 'op=0.1,device=0.05', costs vary and the makespan is the mean over draws: ``Evaluation.row``
    has ``stretch``, how much longer that is than predicted, and ``makespan_p95``.

    Raises ``Infeasible`` if there is no feasible placement, ``TimedOut`` after the time limit, ``Error`` otherwise.
    """
    return _placebench.place(
        graph, cluster, placer, scheduler, network, objective, seed, kinds, memory, devices, time_limit, _listed(passes),
        None if noise is None else str(noise),
    )


def _listed(passes: str | Iterable[str]) -> list[str]:
    return [passes] if isinstance(passes, str) else list(passes)


def simulate(
    graph: Graph | _Path,
    cluster: Cluster | _Path,
    placement: Iterable[int | str],
    *,
    scheduler: str = "pct",
    network: str = "contention_free",
    seed: int = 0,
    kinds: str | None = None,
    memory: str = "peak",
    devices: int | None = None,
    time_limit: float | None = None,
    passes: str | Iterable[str] = (),
    noise: float | str | None = None,
) -> Evaluation:
    """Simulates a placement of one's own: a device, by number or name, for each op. Otherwise as ``place``."""
    return _placebench.simulate(
        graph, cluster, placement, scheduler, network, seed, kinds, memory, devices, time_limit, _listed(passes),
        None if noise is None else str(noise),
    )


def partition(
    graph: Graph | _Path | tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike],
    blocks: int,
    algorithm: str | None = None,
    *,
    epsilon: float = 0.03,
    seed: int = 0,
    vertices: str = "ops",
    vertex_weight: str | None = None,
    edge_weight: str | None = None,
    cluster: Cluster | _Path | None = None,
) -> Partition:
    """Partitions a graph into blocks of nearly equal weight.

    ``graph`` is a dataflow graph as ``place`` takes it, a file of an undirected graph or a hypergraph, or the edges of an
    undirected graph: (sources, targets) or (sources, targets, weights). ``algorithm`` is one of ``names("partitioners")``, by
    default the first. The other words are those of ``placebench partition``.
    """
    return _placebench.partition(
        graph, blocks, algorithm, epsilon, seed, vertices, vertex_weight, edge_weight, cluster
    )


def run(
    suite: _Path | Mapping[str, Any],
    *,
    out: _Path | None = None,
    seed: int | None = None,
    repetitions: int | None = None,
    where: str | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Results:
    """Runs a suite: every graph x cluster x placer x scheduler, each placement simulated, validated and measured.

    ``suite`` is a built-in one, a file, or a dictionary with the keys of a suite file (docs/FORMATS.md); paths in a dictionary are
    relative to the working directory. Its ``placers`` may hold functions that ``placebench.placer`` made placers, and its
    ``graph`` and ``cluster`` may hold a ``Graph`` and a ``Cluster``.

    Without ``out`` the results are in memory only. With it they are in a run folder, too, which ``placebench report`` and the other
    commands read; a run that was stopped goes on there. ``where`` selects cells, as in 'graph=nmt placer=heft'. ``progress`` is
    called with the cells that are done and all cells, now and then.

    A cell that fails is a row that says why, not an exception.
    """
    if not isinstance(suite, Mapping):
        return _placebench.run(suite, None, [], out, seed, repetitions, where, threads, progress)
    table, functions = with_functions(suite)
    called = [(function.name, function, digest_of(function)) for function in functions]
    if out is not None and (name := in_memory(table)) is not None:
        raise Error(f"suite: {name} is in memory only, and a run folder needs a file: save it, and name the file")
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        definition = as_json(table, "suite", folder)
        return _placebench.run(None, definition, called, out, seed, repetitions, where, threads, progress)
