"""What is done to a graph before it is written: fixed shapes, pruning, small constants, counting."""

import hashlib

from .tf import tf, v1

LARGEST_CONSTANT = 1024  # bytes; the content of a larger one is left out of the written graph
REFERENCE = 100  # a reference type's number is that of its base type plus this


def fix_shapes(graph_def, feeds):
    """Gives every fed placeholder the shape of the array it is fed, so that all sizes are known."""
    for node in graph_def.node:
        if node.name in feeds:
            shape = node.attr["shape"].shape
            shape.Clear()
            for size in feeds[node.name].shape:
                shape.dim.add().size = size
    return graph_def


def prune(graph_def, target):
    """The part of the graph that `target` needs."""
    return v1.graph_util.extract_sub_graph(graph_def, [target])


def load(graph_def):
    """The graph as an object, with shapes inferred anew."""
    graph = tf.Graph()
    with graph.as_default():
        v1.import_graph_def(graph_def, name="")
    return graph


def strip_constants(graph_def):
    """Drops the content of large constants; type, shape and a digest of the content stay. Returns how many were stripped.

    Without the digest, constants of one shape would look equal to who compares attributes.
    """
    stripped = 0
    for node in graph_def.node:
        if node.op != "Const":
            continue
        tensor = node.attr["value"].tensor
        if tensor.ByteSize() > LARGEST_CONSTANT:
            digest = hashlib.sha256(tensor.SerializeToString(deterministic=True)).hexdigest()[:16]
            node.attr["_placebench_attributes"].s = digest.encode()
            kept = type(tensor)(dtype=tensor.dtype, tensor_shape=tensor.tensor_shape)
            tensor.CopyFrom(kept)
            stripped += 1
    return stripped


def serialise(graph_def):
    """The graph's bytes: the same graph gives the same bytes in every process."""
    return graph_def.SerializeToString(deterministic=True)


def bytes_of(dtype_number, dims):
    """The size of a tensor, or None if a dimension is unknown."""
    size = tf.dtypes.as_dtype(dtype_number % REFERENCE).size
    for dim in dims:
        if dim is None or dim < 0:
            return None
        size *= dim
    return size


def static_sizes(graph):
    """Bytes of every output whose shape TensorFlow can infer: (operation, port) -> bytes."""
    sizes = {}
    for op in graph.get_operations():
        for port, tensor in enumerate(op.outputs):
            if tensor.shape.rank is None:
                continue
            size = bytes_of(tensor.dtype.as_datatype_enum, tensor.shape.as_list())
            if size is not None:
                sizes[op.name, port] = size
    return sizes


def data_inputs(node):
    """The (operation, port) pairs that a node reads."""
    for name in node.input:
        if not name.startswith("^"):
            source, _, port = name.partition(":")
            yield source, int(port or 0)


def colocated_with(node):
    """The operations that a node has to share its device with."""
    if "_class" not in node.attr:
        return []
    return [s[5:].decode() for s in node.attr["_class"].list.s if s.startswith(b"loc:@")]


def variable_bytes(graph_def):
    """The memory that stays taken between steps: the size of every variable."""
    return {
        node.name: bytes_of(node.attr["dtype"].type, [d.size for d in node.attr["shape"].shape.dim])
        for node in graph_def.node
        if node.op in ("VariableV2", "Variable", "VarHandleOp")
    }


def counts(graph_def):
    """Nodes, edges and colocated nodes, as Laich's Table 7.2 counts them."""
    data = sum(1 for node in graph_def.node for _ in data_inputs(node))
    control = sum(len(node.input) for node in graph_def.node) - data
    colocated = sum(1 for node in graph_def.node if colocated_with(node))
    return {"nodes": len(graph_def.node), "data_edges": data, "control_edges": control, "class_colocated": colocated}
