"""Graphs from and to NetworkX, by way of its node-link JSON, whose attributes docs/FORMATS.md describes."""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

from ._placebench import Error, Graph

if TYPE_CHECKING:
    import networkx


def from_networkx(graph: networkx.DiGraph[Any], *, name: str | None = None) -> Graph:
    """The dataflow graph of a NetworkX graph.

    Attributes are those of the format ``node_link`` (docs/FORMATS.md): ``ops``, ``memory_bytes``, ``kinds``, ``outputs``, ... of
    nodes; ``bytes`` and ``port`` of edges. What nodes are called becomes the names of ops, unless they have a ``name`` or are
    0, 1, 2, .... Everything is copied.
    """
    node_link = _networkx().node_link_data(graph, edges="edges")
    if name is not None:
        node_link["graph"]["name"] = name
    for table, keys in (("nodes", ("id",)), ("edges", ("source", "target"))):
        for item in node_link[table]:
            item.update({key: str(item[key]) for key in keys if not isinstance(item[key], (int, str))})
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        path = pathlib.Path(folder, "graph.nx.json")
        try:
            path.write_text(json.dumps(node_link, default=_plain))
        except TypeError as error:
            raise Error(f"the NetworkX graph: {error}") from None
        try:
            return Graph.load(path)
        except Error as error:
            raise Error(str(error).replace(str(path), "the NetworkX graph")) from None


def to_networkx(graph: Graph) -> networkx.DiGraph[Any]:
    """The NetworkX graph of a dataflow graph, with the attributes of the format ``node_link``. Everything is copied."""
    library = _networkx()
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        path = pathlib.Path(folder, "graph.nx.json")
        graph.save(path)
        return library.node_link_graph(json.loads(path.read_text()), edges="edges")


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def _networkx() -> Any:
    try:
        import networkx
    except ImportError as error:
        raise Error("this needs networkx: pip install networkx") from error
    return networkx
