"""Layers for operations that have none, from those of their neighbours."""


def follow_neighbours(producers, layers):
    """Gives an operation the layer that all its consumers share, else the one that all its producers share.

    Where that leads no further, the consumers that have a layer decide for those that have none. `producers` maps
    every operation to those that it reads; `layers` is filled in place.
    """
    consumers = {name: [] for name in producers}
    for name, sources in producers.items():
        for source in sources:
            consumers[source].append(name)

    def strict(name):
        return _shared(layers, consumers[name]) or _shared(layers, producers[name])

    def lenient(name):
        return _shared(layers, [c for c in consumers[name] if c in layers])

    rule, open_nodes = strict, [name for name in producers if name not in layers]
    while True:
        found = {name: layer for name in open_nodes if (layer := rule(name))}
        layers.update(found)
        open_nodes = [name for name in open_nodes if name not in found]
        if found:
            rule = strict
        elif rule is strict:
            rule = lenient
        else:
            return


def _shared(layers, names):
    """The one layer that all of `names` have, or None."""
    found = {layers.get(name) for name in names}
    return found.pop() if len(found) == 1 else None
