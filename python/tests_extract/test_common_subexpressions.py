"""What TensorFlow's own elimination of common subexpressions leaves of a step: the check of the pass `cse`.

The counts are also in `generator/tests/passes/catalogue.rs`, which applies the pass to the same graphs.
"""

import unittest
from collections import Counter

from placebench_extract import graph, models
from placebench_extract.tf import tf, v1


def executed(model, whether):
    """The names of the nodes that TensorFlow executes in a step, with or without elimination, and nothing else done."""
    step = graph.prune(graph.fix_shapes(model.graph.as_graph_def(), model.feeds), model.train)
    everything = graph.load(graph.fix_shapes(model.graph.as_graph_def(), model.feeds))
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    config.graph_options.optimizer_options.do_common_subexpression_elimination = whether
    with v1.Session(graph=everything, config=config) as session:
        session.run(model.init)
        told = v1.RunMetadata()
        feeds = {f"{name}:0": value for name, value in model.feeds.items()}
        session.run(model.train, feeds, v1.RunOptions(output_partition_graphs=True), told)
    return step, {node.name for part in told.partition_graphs for node in part.node}


class CommonSubexpressions(unittest.TestCase):
    def test_tensorflow_merges_these(self):
        for name, expected in (
            ("convnet", {"Const": 19, "Shape": 4, "Sub": 2, "Pack": 2, "ExpandDims": 1}),
            ("recurrent", {"Const": 240, "FloorMod": 26, "Shape": 3, "Sub": 2, "Pack": 2, "Fill": 1, "ExpandDims": 1}),
        ):
            with self.subTest(name=name):
                step, plain = executed(models.build(name), False)
                _, merged = executed(models.build(name), True)
                gone = Counter(node.op for node in step.node if node.name in plain and node.name not in merged)
                self.assertEqual(dict(gone), expected, tf.__version__)


if __name__ == "__main__":
    unittest.main()
