"""Estimates how long every operation would take on a GPU, with Grappler's analytical cost model.

No GPU is needed: Grappler divides an operation's arithmetic by the device's peak rate and its bytes by
the memory's, from the shapes alone, and adds the two.

Grappler hands costs out in whole microseconds, too coarse for the small operations of an LSTM. So it
prices a card that is `SLOWER` times as slow in everything, and the result is divided by that.

Where Grappler does not know a shape it takes the smallest one possible. The sizes are known here from
the trace, so no estimate is left below the time that the bytes alone need (`least_seconds`).
"""

from tensorflow.core.protobuf import device_properties_pb2
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item as grappler_item

from . import graph as graphs
from .tf import v1

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


MULTIPROCESSORS, CLOCK_MHZ = 20, 1733  # a GTX 1080, the card of Bahnmueller's evaluation
CORES = 128  # of a multiprocessor
BANDWIDTH = 320e9  # bytes/s
PEAK = MULTIPROCESSORS * CORES * CLOCK_MHZ * 1e6 * 2  # 8.87e12 flop/s, a multiply-add being two
SLOW_CLOCK_MHZ = 35  # Grappler wants whole MHz
SLOWER = MULTIPROCESSORS * CLOCK_MHZ / SLOW_CLOCK_MHZ


def slow_card():
    """The GTX 1080, `SLOWER` times as slow: one multiprocessor with a low clock and little bandwidth.

    The architecture is given as 5.2: Grappler takes from it only the cores of a multiprocessor, and
    knows 64 for every 6.x, which is right for a P100 and half of what a GTX 1080 (6.1) has.
    """
    return device_properties_pb2.DeviceProperties(
        type="GPU",
        frequency=SLOW_CLOCK_MHZ,
        num_cores=1,
        bandwidth=round(BANDWIDTH / 1e3 / SLOWER),  # KB/s
        memory_size=8 << 30,
        environment={"architecture": "5.2"},
    )


# Hand their input on, or say something about it, or stand for memory that exists already: nothing moves.
FREE = frozenset("""
    Const Placeholder VariableV2 Variable VarHandleOp NoOp Identity IdentityN StopGradient PreventGradient
    Reshape Squeeze ExpandDims Switch RefSwitch Merge Shape ShapeN Size Rank BroadcastGradientArgs
    ConcatOffset IsVariableInitialized Assert ControlTrigger
""".split())
PICKS = frozenset(["Slice", "StridedSlice", "Gather", "GatherV2"])  # read as much as they put out
SCATTERS = frozenset(["ScatterAdd", "ScatterSub", "ScatterUpdate"])  # touch the rows that they update


def gpu_seconds(graph_def, targets, sizes):
    """Seconds of every operation that `targets` need, and how many estimates the bytes have raised.

    `sizes` has the bytes of every output: (operation, port) -> bytes.
    """
    estimates = grappler_seconds(graph_def, targets)
    raised = 0
    for node in graph_def.node:
        least = least_seconds(node, sizes)
        if node.name in estimates and estimates[node.name] < least:
            raised += estimates[node.name] < 0.99 * least - 1e-9  # the rest is rounding
            estimates[node.name] = least
    return estimates, raised


def least_seconds(node, sizes):
    """The time that the memory needs to move what the operation reads and writes, each byte once."""
    if node.op in FREE:
        return 0.0
    read = [sizes.get(port, 0) for port in graphs.data_inputs(node)]
    written, port = 0, 0
    while (node.name, port) in sizes:
        written += sizes[node.name, port]
        port += 1
    if node.op in PICKS:
        moved = 2 * written
    elif node.op in SCATTERS:
        moved = 3 * read[2]
    else:
        moved = sum(read) + written
    return moved / BANDWIDTH


def grappler_seconds(graph_def, targets):
    """Grappler's own estimate for every operation that `targets` need."""
    placed = v1.GraphDef()
    placed.CopyFrom(graph_def)
    for node in placed.node:
        node.device = DEVICE
    graph = graphs.load(placed)
    with graph.as_default():
        for target in targets:
            graph.add_to_collection(v1.GraphKeys.TRAIN_OP, graph.get_operation_by_name(target))
        meta_graph = v1.train.export_meta_graph(graph=graph)
    device = device_properties_pb2.NamedDevice(name=DEVICE, properties=slow_card())
    with grappler_cluster.Provision(devices=[device], disable_detailed_stats=False) as cluster:
        costs, _, _ = cluster.MeasureCosts(grappler_item.Item(meta_graph))
    return {cost.node: cost.compute_cost * 1e-9 / SLOWER for cost in costs}
