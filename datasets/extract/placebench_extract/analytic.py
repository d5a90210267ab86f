"""Estimates how long every operation would take on a GPU, with Grappler's analytical cost model.

No GPU is needed: Grappler divides an operation's arithmetic by the device's peak rate and its bytes by
the memory's, from the shapes alone.
"""

from tensorflow.core.protobuf import device_properties_pb2
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item as grappler_item

from . import graph as graphs
from .tf import v1

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


def gtx_1080():
    """The card of Bahnmueller's evaluation: 8.9 TFLOP/s, 320 GB/s."""
    return device_properties_pb2.DeviceProperties(
        type="GPU",
        vendor="NVIDIA",
        model="GeForce GTX 1080",
        frequency=1733,  # MHz
        num_cores=20,  # multiprocessors
        bandwidth=320_000_000,  # KB/s
        memory_size=8 << 30,
        environment={"architecture": "6.1"},
    )


def gpu_seconds(graph_def, targets, properties=None):
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
    device = device_properties_pb2.NamedDevice(name=DEVICE, properties=properties or gtx_1080())
    with grappler_cluster.Provision(devices=[device], disable_detailed_stats=False) as cluster:
        costs, _, _ = cluster.MeasureCosts(grappler_item.Item(meta_graph))
    return {cost.node: cost.compute_cost * 1e-9 for cost in costs}
