import csv
import io
import unittest

from placebench_extract import extract, graph, models
from placebench_extract.tf import v1

from tiny import TINY


def read(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


class Models(unittest.TestCase):
    def test_every_model_has_a_tiny_variant(self):
        self.assertEqual(set(TINY), set(models.CATALOGUE))

    def test_the_same_model_gives_the_same_bytes(self):
        for name, small in TINY.items():
            with self.subTest(name):
                first, second = (graph.serialise(models.build(name, **small).graph.as_graph_def()) for _ in range(2))
                self.assertEqual(first, second)

    def test_tables_and_graph_of_every_model_agree(self):
        for name, small in TINY.items():
            with self.subTest(name):
                self.check(extract.contents(models.build(name, **small), False, 1), name)

    def check(self, files, name):
        nodes = v1.GraphDef.FromString(files["graph.pb"]).node
        ops, tensors = read(files["ops.csv"]), read(files["tensors.csv"])
        self.assertEqual([row["name"] for row in ops], [node.name for node in nodes])
        ports = {(row["op"], int(row["port"])) for row in tensors}
        for node in nodes:
            self.assertLessEqual(set(graph.data_inputs(node)), ports)
        provenance = files["provenance.toml"].decode()
        self.assertIn("unknown_sizes = 0\n", provenance)
        if name != "dynamic_rnn":  # whose dead branches never run
            self.assertIn("untraced_ops = 0\n", provenance)
        self.assertTrue(all(row["gpu_seconds"] for row in ops))
        self.assertGreater(sum(bool(row["layer"]) for row in ops), 0.9 * len(ops))
        variables = sum(int(row["memory_bytes"]) for row in ops)
        self.assertEqual(variables, sum(graph.variable_bytes(v1.GraphDef(node=nodes)).values()))
        self.assertGreater(variables, 0)

    def test_the_whole_graph_has_the_initialisation_too(self):
        model = models.build("convnet", **TINY["convnet"])
        whole = extract.contents(model, True, 1)
        rows = {row["name"]: row for row in read(whole["ops.csv"])}
        self.assertEqual(float(rows[model.init]["cpu_seconds"]), 0.0)
        self.assertEqual(rows.keys(), {op.name for op in model.graph.get_operations()})

    def test_laichs_networks_count_as_documented(self):
        documented = {"convnet": (367, 553, 138), "recurrent": (3022, 5265, 553), "dynamic_rnn": (5405, 9339, 1421)}
        for name, expected in documented.items():
            counts = graph.counts(models.build(name).graph.as_graph_def())
            found = counts["nodes"], counts["data_edges"] + counts["control_edges"], counts["class_colocated"]
            self.assertEqual(found, expected, name)

    def test_a_fixed_device_stays_in_the_graph(self):
        nodes = models.build("lstm_lm", **TINY["lstm_lm"]).graph.as_graph_def().node
        self.assertIn("/device:CPU:0", {node.device for node in nodes if node.name == "lm/embedding"})


if __name__ == "__main__":
    unittest.main()
