import unittest

from placebench_extract import layers
from placebench_extract.models.common import minimize_clipped
from placebench_extract.tf import tf, v1


class Layers(unittest.TestCase):
    def test_a_gradient_is_named_after_the_operation_it_differentiates(self):
        known = {"net/mul", "net/mul_1", "a_grad/b"}
        for name, source in {
            "gradients/net/mul_grad/Shape": "net/mul",
            "gradients/net/mul_1_grad/tuple/group_deps": "net/mul_1",
            "train/gradients_1/net/mul_grad": "net/mul",
            "gradients/a_grad/b_grad/Sum": "a_grad/b",
            "gradients/net/other_grad/Sum": None,
            "net/mul": None,
        }.items():
            self.assertEqual(layers.differentiated(name, known), source, name)

    def test_layers_reach_gradients_updates_and_initialisers(self):
        graph = tf.Graph()
        with graph.as_default():
            scopes = layers.LayerScopes(graph)
            with scopes("first"):
                a = v1.get_variable("a", [3, 4])
                h = tf.tanh(tf.matmul(v1.ones([2, 3]), a))
            with scopes("second"):
                b = v1.get_variable("b", [4, 5])
                loss = tf.reduce_sum(tf.matmul(h, b))
            train = v1.train.AdamOptimizer(0.1).minimize(loss)
        found = layers.spread(graph.as_graph_def(), scopes.layer_of)
        for name in graph.get_operations():
            if name.name.startswith(("a/", "Adam/update_a", "gradients/Tanh_grad", "gradients/MatMul_grad")):
                self.assertEqual(found[name.name], "first", name.name)
            if name.name.startswith(("b/", "Adam/update_b", "gradients/MatMul_1_grad")):
                self.assertEqual(found[name.name], "second", name.name)
        self.assertNotIn("Adam/learning_rate", found)
        self.assertNotIn(train.name, found)

    def test_the_gradient_of_a_shared_variable_belongs_to_the_variable(self):
        graph = tf.Graph()
        with graph.as_default():
            scopes = layers.LayerScopes(graph)
            with scopes("first"):
                words = v1.get_variable("words", [7, 4])
                h = tf.nn.embedding_lookup(words, v1.placeholder(tf.int32, [3]))
            with scopes("second"):
                loss = tf.reduce_sum(tf.matmul(h, words, transpose_b=True))
            minimize_clipped(v1.train.GradientDescentOptimizer(0.1), loss, 1.0)
        found = layers.spread(graph.as_graph_def(), scopes.layer_of)
        sums = [op.name for op in graph.get_operations() if op.type == "AddN"]
        self.assertEqual([found.get(name) for name in sums], ["first"] * len(sums))
        self.assertTrue(sums)

    def test_the_inner_layer_wins(self):
        graph = tf.Graph()
        with graph.as_default():
            scopes = layers.LayerScopes(graph)
            with scopes("outer"):
                v1.zeros([1], name="before")
                with scopes("inner"):
                    v1.zeros([1], name="within")
        self.assertEqual(scopes.layer_of, {"before": "outer", "within": "inner"})


if __name__ == "__main__":
    unittest.main()
