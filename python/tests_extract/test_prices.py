"""The analytic model of GPU times, and traces.

Runs after test_models (unittest goes by name): once the analytic model has run in a process, TensorFlow fuses convolutions
of later sessions whatever their settings, so that a trace lacks them.
"""

import unittest

import numpy as np

from placebench_extract import analytic, graph, models, trace
from placebench_extract.tf import tf, v1

from tiny import TINY


def estimated(build):
    made = tf.Graph()
    with made.as_default():
        target = build().op.name
    definition = made.as_graph_def()
    return analytic.gpu_seconds(definition, [target], graph.static_sizes(made))[0][target]


class Analytic(unittest.TestCase):
    def test_a_matrix_product_stays_below_the_peak_rate(self):
        n = 1024
        seconds = estimated(lambda: tf.matmul(v1.placeholder(tf.float32, [n, n]), v1.placeholder(tf.float32, [n, n])))
        moved = 3 * n * n * 4 / analytic.BANDWIDTH
        self.assertGreaterEqual(seconds * 1.001, 2 * n**3 / analytic.PEAK)
        self.assertLess(seconds, 1.01 * (2 * n**3 / analytic.PEAK + moved))

    def test_an_elementwise_operation_is_bound_by_the_memory(self):
        n = 1 << 20
        seconds = estimated(lambda: tf.nn.relu(v1.placeholder(tf.float32, [n])))
        self.assertAlmostEqual(seconds, 2 * 4 * n / analytic.BANDWIDTH, delta=0.02 * seconds)

    def test_small_operations_do_not_round_to_nothing(self):
        seconds = estimated(lambda: tf.tanh(v1.placeholder(tf.float32, [1000])))
        self.assertGreater(seconds, 0)
        self.assertLess(seconds, 1e-7)

    def test_rows_of_unknown_number_are_priced_by_their_measured_size(self):
        made = tf.Graph()
        with made.as_default():
            table = v1.get_variable("table", [1000, 64])
            target = v1.scatter_add(table, v1.placeholder(tf.int32, [None]), v1.placeholder(tf.float32, [None, 64], "rows"))
        sizes = {("rows", 0): 500 * 64 * 4, ("ScatterAdd", 0): 1000 * 64 * 4}
        seconds, raised = analytic.gpu_seconds(made.as_graph_def(), ["ScatterAdd"], sizes)
        self.assertEqual(target.op.name, "ScatterAdd")
        self.assertAlmostEqual(seconds["ScatterAdd"], 3 * 500 * 64 * 4 / analytic.BANDWIDTH)
        self.assertEqual(raised, 1)


class Traces(unittest.TestCase):
    def test_a_run_keeps_every_operation_of_the_training_step(self):
        model = models.build("recurrent", **TINY["recurrent"])
        measured = trace.trace(model.graph, model.init, model.train, model.feeds, 2)
        step = {node.name for node in graph.prune(model.graph.as_graph_def(), model.train).node}
        self.assertEqual(step - set(measured.seconds), set())
        self.assertEqual(len(measured.steps), 2)

    def test_a_fed_placeholder_is_found_under_its_own_name(self):
        self.assertEqual(trace.original_name("_arg_Placeholder_1_0_2"), "Placeholder_1")
        self.assertEqual(trace.original_name("rnn/mul_1"), "rnn/mul_1")

    def test_the_shortest_time_and_the_measured_size_stay(self):
        result = trace.Trace()
        for nanos in (500, 300, 400):
            stats = v1.RunMetadata().step_stats
            node = stats.dev_stats.add().node_stats.add(node_name="op", op_start_rel_nanos=100, op_end_rel_nanos=100 + nanos)
            description = node.output.add(slot=1).tensor_description
            description.dtype = tf.float32.as_datatype_enum
            description.shape.dim.add(size=nanos)
            trace.add_step(result, stats)
        self.assertAlmostEqual(result.seconds["op"], 300e-9)
        self.assertEqual(result.outputs, {("op", 1): 2000})
        np.testing.assert_allclose(result.steps, [500e-9, 300e-9, 400e-9])


if __name__ == "__main__":
    unittest.main()
