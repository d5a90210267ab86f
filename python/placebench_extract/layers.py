"""The layer of every operation, for expert placement.

The models say which forward operations belong to which layer. Everything else follows from those:
a gradient operation belongs to the layer of the forward operation it differentiates, the update of a
variable to the variable's layer, and what stands between operations of one layer to that layer. What
serves all layers (the global norm, the learning rate, the training operation itself) has none.
"""

import contextlib
import re

from .graph import colocated_with, data_inputs
from .neighbours import follow_neighbours


class LayerScopes:
    """Records which operations are made inside `with scopes(layer):`; the innermost scope wins."""

    def __init__(self, graph):
        self._graph = graph
        self.layer_of = {}

    @contextlib.contextmanager
    def __call__(self, layer):
        before = len(self._graph.get_operations())
        yield
        for op in self._graph.get_operations()[before:]:
            self.layer_of.setdefault(op.name, layer)


def spread(graph_def, forward):
    """The layer of every node of the graph that has one, from the layers of the forward operations."""
    layers = {node.name: forward[node.name] for node in graph_def.node if node.name in forward}
    for node in graph_def.node:
        if node.name not in layers:
            source = differentiated(node.name, forward)
            if source:
                layers[node.name] = forward[source]
    _follow_colocation(graph_def, layers)
    follow_neighbours({node.name: [source for source, _ in data_inputs(node)] for node in graph_def.node}, layers)
    return layers


def differentiated(name, known):
    """The forward operation that a gradient operation belongs to, from its name, if `known` has it.

    >>> differentiated("gradients/rnn/mul_grad/Reshape", {"rnn/mul"})
    'rnn/mul'
    """
    scope = re.match(r"(?:.*/)?gradients(?:_\d+)?/", name)
    if not scope:
        return None
    rest = name[scope.end():]
    for end in re.finditer(r"_grad(?=/|$)", rest):
        if rest[: end.start()] in known:
            return rest[: end.start()]
    return None


def _follow_colocation(graph_def, layers):
    for node in graph_def.node:
        found = [layers[target] for target in colocated_with(node) if target in layers]
        if found:
            layers.setdefault(node.name, found[0])
