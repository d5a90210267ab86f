"""The layer of every operation, for expert placement.

The models say which forward operations belong to which layer. Everything else follows from those:
a gradient operation belongs to the layer of the forward operation it differentiates, the update of a
variable to the variable's layer, and what stands between operations of one layer to that layer. What
serves all layers (the global norm, the learning rate, the training operation itself) has none.
"""

import contextlib
import re


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
    names = {node.name for node in graph_def.node}
    for node in graph_def.node:
        if node.name not in layers:
            source = differentiated(node.name, forward)
            if source:
                layers[node.name] = forward[source]
    _follow_colocation(graph_def, layers, names)
    _follow_neighbours(graph_def, layers)
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


def _follow_colocation(graph_def, layers, names):
    for node in graph_def.node:
        if node.name in layers:
            continue
        for target in colocated_with(node):
            if target in layers and target in names:
                layers[node.name] = layers[target]
                break


def colocated_with(node):
    """The operations that a node has to share its device with."""
    if "_class" not in node.attr:
        return []
    return [s[5:].decode() for s in node.attr["_class"].list.s if s.startswith(b"loc:@")]


def _follow_neighbours(graph_def, layers):
    """Gives a node the layer that all its consumers share, else the one that all its producers share."""
    producers = {node.name: [i.split(":")[0] for i in node.input if not i.startswith("^")] for node in graph_def.node}
    consumers = {name: [] for name in producers}
    for name, sources in producers.items():
        for source in sources:
            consumers[source].append(name)
    open_nodes = [name for name in producers if name not in layers]
    while open_nodes:
        found = {}
        for name in open_nodes:
            for neighbours in (consumers[name], producers[name]):
                around = {layers.get(n) for n in neighbours}
                if len(around) == 1 and None not in around:
                    found[name] = around.pop()
                    break
        if not found:
            return
        layers.update(found)
        open_nodes = [name for name in open_nodes if name not in found]
