"""The compiled half of placebench."""

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, final

import numpy as np
import pandas
import polars
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

_Path = str | os.PathLike[str]

__version__: str

class Error(Exception):
    """What placebench refuses or cannot do; the text is that of the command line."""

class Infeasible(Error):
    """There is no feasible placement, or none was found. A placer may raise it."""

class TimedOut(Error):
    """It was not done within the time limit."""

class Stopped(BaseException):
    """Raised inside a placer when its time is up or the run is stopped."""

@final
class Graph:
    """A dataflow graph: ops with costs and memory, the tensors that they make, and edges that carry them. It cannot be changed.

    Arrays are NumPy's, read-only, and not copied unless their documentation says that they are made anew.
    """

    @staticmethod
    def load(
        source: _Path,
        *,
        seed: int = 0,
        cycles: str | None = None,
        references: bool = True,
        split: _Path | None = None,
        dims: Mapping[str, int] | None = None,
    ) -> Graph:
        """As ``placebench.load``."""
    @staticmethod
    def generate(table: str, seed: int) -> Graph:
        """The graph of a suite's ``[[graph]]`` table in JSON: see ``placebench.generate``."""
    @staticmethod
    def from_edges(
        sources: ArrayLike,
        targets: ArrayLike,
        costs: ArrayLike,
        *,
        output_bytes: ArrayLike | None = None,
        edge_bytes: ArrayLike | None = None,
        memory_bytes: ArrayLike | None = None,
        kinds: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        layers: Sequence[str] | None = None,
        attributes: Sequence[str | None] | None = None,
        colocated: Sequence[tuple[int, int]] | None = None,
        name: str = "graph",
    ) -> Graph:
        """A graph of edge arrays: edge i goes from op ``sources[i]`` to op ``targets[i]``; ops are numbered from 0.

        ``costs`` has one entry for each op, in operations. With ``output_bytes`` each op has one output of that many bytes, which all of
        its edges carry; with ``edge_bytes`` each edge carries a tensor of its own; with neither, edges only order their ops.
        Arrays of 32- or 64-bit integers, and of 64-bit floats, are read where they are. ``colocated`` names pairs of ops that have to
        share a device.
        """
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def op_count(self) -> int: ...
    @property
    def edge_count(self) -> int: ...
    @property
    def tensor_count(self) -> int: ...
    @property
    def costs(self) -> NDArray[np.float64]: ...
    @property
    def memory_bytes(self) -> NDArray[np.uint64]: ...
    @property
    def tensor_bytes(self) -> NDArray[np.uint64]: ...
    @property
    def producers(self) -> NDArray[np.uint32]: ...
    @property
    def offsets(self) -> NDArray[np.uint32]: ...
    @property
    def targets(self) -> NDArray[np.uint32]: ...
    @property
    def sources(self) -> NDArray[np.uint32]: ...
    @property
    def edge_bytes(self) -> NDArray[np.uint64]: ...
    @property
    def names(self) -> list[str] | None: ...
    @property
    def types(self) -> list[str | None] | None: ...
    @property
    def layers(self) -> list[str | None] | None: ...
    @property
    def attributes(self) -> list[str | None] | None: ...
    @property
    def kinds(self) -> list[str]: ...
    def times(self, device_class: str) -> NDArray[np.float64]: ...
    def passed(self, *passes: str) -> tuple[Graph, list[list[int]], list[str]]:
        """What passes make of the graph, one after another ('placebench list passes'): the new graph, for each of its ops the ops
        of this one that it comes from, and a line for each pass of what it did."""
    def inspect(self, cluster: Cluster | _Path | None = None) -> str: ...
    def save(self, path: _Path, *, strict: bool = False, force: bool = False) -> list[str]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Cluster:
    """Devices, and what it takes to move bytes between them. It cannot be changed."""

    @staticmethod
    def load(source: _Path, *, devices: int | None = None, seed: int = 0) -> Cluster:
        """The cluster of a preset or a file, or its first ``devices``."""
    @staticmethod
    def uniform(
        count: int,
        *,
        speed: float,
        rate: float,
        latency: float = 0.0,
        kind: str = "GPU",
        memory_bytes: int | None = None,
        name: str = "uniform",
    ) -> Cluster:
        """Equal devices with equal links; ``speed`` in operations, ``rate`` in bytes a time unit."""
    @property
    def name(self) -> str: ...
    @property
    def devices(self) -> list[str]: ...
    @property
    def kinds(self) -> list[str]: ...
    @property
    def memory_bytes(self) -> list[int | None]: ...
    @property
    def speeds(self) -> NDArray[np.float64]: ...
    @property
    def rates(self) -> NDArray[np.float64]: ...
    @property
    def latencies(self) -> NDArray[np.float64]: ...
    def save(self, path: _Path, *, force: bool = False) -> None: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Instance:
    """A graph on a cluster: what a placer gets."""

    def __new__(
        cls,
        graph: Graph | _Path,
        cluster: Cluster | _Path,
        *,
        devices: int | None = None,
        kinds: str | None = None,
        memory: str = "peak",
        seed: int = 0,
    ) -> Instance: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def cluster(self) -> Cluster: ...
    @property
    def memory_rule(self) -> str: ...
    @property
    def peak_limits(self) -> list[int | None]: ...
    @property
    def time_unit(self) -> str: ...
    @property
    def times(self) -> NDArray[np.float64]: ...
    @property
    def allowed(self) -> NDArray[np.bool_]: ...
    @property
    def units(self) -> NDArray[np.uint32]: ...
    @property
    def demands(self) -> NDArray[np.uint64]: ...
    @property
    def topological_order(self) -> NDArray[np.uint32]: ...

@disjoint_base
class Table:
    """Columns of equal length that speak Arrow's PyCapsule interface, so that Polars, PyArrow and pandas take them."""

    @property
    def columns(self) -> list[str]: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str | None: ...

@final
class Figure:
    """A figure: vectors, pixels and data. A notebook shows it."""

    @property
    def name(self) -> str: ...
    @property
    def caption(self) -> str: ...
    def svg(self, *, outlines: bool = False) -> str: ...
    def png(self, *, dpi: int = 300) -> bytes: ...
    def csv(self) -> str: ...
    def save(self, path: _Path, *, dpi: int = 300) -> None: ...
    def _repr_svg_(self) -> str: ...

@final
class Evaluation:
    """A placement that was simulated, found valid and measured. A notebook shows its timeline."""

    @property
    def makespan(self) -> float: ...
    @property
    def time_unit(self) -> str: ...
    @property
    def row(self) -> dict[str, Any]: ...
    @property
    def passed(self) -> dict[str, Any] | None: ...
    @property
    def instance(self) -> Instance: ...
    @property
    def placement(self) -> NDArray[np.uint32]: ...
    @property
    def devices(self) -> list[str]: ...
    @property
    def timeline(self) -> Table: ...
    def gantt(self, *, width: str = "double", page: str = "light") -> Figure: ...
    def save_trace(self, path: _Path) -> None: ...
    def _repr_svg_(self) -> str: ...

@final
class Partition:
    """A partition of a graph into blocks, with what it is worth."""

    @property
    def block_of(self) -> NDArray[np.uint32]: ...
    @property
    def blocks(self) -> int: ...
    @property
    def cut(self) -> int: ...
    @property
    def volume(self) -> int: ...
    @property
    def traffic(self) -> int | None: ...
    @property
    def imbalance(self) -> float: ...
    @property
    def weights(self) -> NDArray[np.uint64]: ...
    @property
    def acyclic(self) -> bool | None: ...
    @property
    def seconds(self) -> float: ...
    def save(self, path: _Path) -> None: ...
    def __len__(self) -> int: ...

@final
class Results(Table):
    """The results of a run: a table with a row for each cell, a summary, and figures."""

    @property
    def folder(self) -> pathlib.Path | None: ...
    @property
    def suite(self) -> str: ...
    def summary(self) -> str: ...
    def filter(self, only: str) -> Results: ...
    def figures(
        self,
        kind: str | None = None,
        *,
        metric: str | None = None,
        sort: str = "mean",
        cells: Sequence[str] = ...,
        width: str = "double",
        page: str = "light",
    ) -> list[Figure]: ...
    def report(self, path: _Path | None = None) -> pathlib.Path: ...
    def save(self, path: _Path) -> None: ...
    def _repr_html_(self) -> str: ...

def names(what: str, /) -> list[str]:
    """The names that there are of 'graphs', 'presets', 'clusters', 'placers', 'partitioners', 'schedulers', 'networks', 'suites'
    or 'figures'. ``placebench list`` says what each is."""

def run_command(program: _Path, arguments: Sequence[str], /) -> NoReturn:
    """Does what the command ``placebench`` does with these arguments, and ends the process. ``program`` is the script that
    starts the command in other processes."""

def read_results(folder: _Path, /) -> Results:
    """The results in a run folder, finished or not."""

def place(
    graph: Graph | _Path,
    cluster: Cluster | _Path,
    placer: object,
    scheduler: str | None,
    network: str,
    objective: str,
    seed: int,
    kinds: str | None,
    memory: str,
    devices: int | None,
    time_limit: float | None,
    passes: list[str],
    noise: str | None,
) -> Evaluation: ...
def simulate(
    graph: Graph | _Path,
    cluster: Cluster | _Path,
    placement: object,
    scheduler: str,
    network: str,
    seed: int,
    kinds: str | None,
    memory: str,
    devices: int | None,
    time_limit: float | None,
    passes: list[str],
    noise: str | None,
) -> Evaluation: ...
def partition(
    graph: object,
    blocks: int,
    algorithm: str | None,
    epsilon: float,
    seed: int,
    vertices: str,
    vertex_weight: str | None,
    edge_weight: str | None,
    cluster: Cluster | _Path | None,
) -> Partition: ...
def run(
    name: _Path | None,
    definition: str | None,
    functions: Sequence[tuple[str, object, str]],
    out: _Path | None,
    seed: int | None,
    repetitions: int | None,
    only: str | None,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
) -> Results: ...
