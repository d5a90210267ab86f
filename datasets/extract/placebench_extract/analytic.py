"""Estimates how long every operation would take on a GPU, with Grappler's analytical cost model.

No GPU is needed: Grappler divides an operation's arithmetic by the device's peak rate and its bytes by
the memory's, from the shapes alone, and adds the two.

Grappler hands costs out in whole microseconds, too coarse for the small operations of an LSTM. So it
prices a card that is `SLOWER` times as slow in everything, and the result is divided by that.
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


def gpu_seconds(graph_def, targets):
    """Estimated seconds of every operation that `targets` need."""
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
