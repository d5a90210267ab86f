import unittest

import numpy as np

from placebench_extract import graph
from placebench_extract.tf import tf, v1


def example():
    made = tf.Graph()
    with made.as_default():
        x = v1.placeholder(tf.float32, [None, 4], "x")
        w = v1.get_variable("w", [4, 3])
        tf.matmul(x, w, name="y")
        tf.constant(np.arange(1000.0), name="large")
        tf.constant([1.0], name="small")
    return made.as_graph_def()


class Graph(unittest.TestCase):
    def test_a_fed_shape_makes_all_sizes_known(self):
        unknown = graph.static_sizes(graph.load(example()))
        self.assertNotIn(("y", 0), unknown)
        known = graph.static_sizes(graph.load(graph.fix_shapes(example(), {"x": np.zeros((2, 4))})))
        self.assertEqual(known["y", 0], 2 * 3 * 4)
        self.assertEqual(known["w", 0], 4 * 3 * 4)

    def test_pruning_keeps_what_the_target_needs(self):
        names = {node.name for node in graph.prune(example(), "y").node}
        self.assertEqual(names, {"x", "w", "w/read", "y"})

    def test_large_constants_lose_their_content_only(self):
        definition = example()
        self.assertEqual(graph.strip_constants(definition), 1)
        nodes = {node.name: node for node in definition.node}
        tensor = nodes["large"].attr["value"].tensor
        self.assertEqual((tensor.dtype, tensor.tensor_shape.dim[0].size), (2, 1000))
        self.assertEqual(tensor.tensor_content, b"")
        self.assertEqual(list(nodes["small"].attr["value"].tensor.float_val), [1.0])

    def test_large_constants_of_other_values_keep_other_attributes(self):
        digests = []
        for start in (0.0, 0.0, 1.0):
            with tf.Graph().as_default() as made:
                tf.constant(np.arange(start, start + 1000.0), name="large")
            stripped = made.as_graph_def()
            graph.strip_constants(stripped)
            digests.append(stripped.node[0].attr["_placebench_attributes"].s)
        self.assertEqual(len(digests[0]), 16)
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_memory_is_that_of_the_variables(self):
        self.assertEqual(graph.variable_bytes(example()), {"w": 4 * 3 * 4})

    def test_edges_and_colocation_are_counted(self):
        counts = graph.counts(example())
        inputs = sum(len(node.input) for node in example().node)
        self.assertEqual(counts["data_edges"] + counts["control_edges"], inputs)
        self.assertEqual(counts["class_colocated"], sum("_class" in node.attr for node in example().node))


if __name__ == "__main__":
    unittest.main()
