"""What placebench writes is read by the tools that own the formats.

PLACEBENCH names the command. A tool that is not installed skips its test, with the reason.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ.get("PLACEBENCH", "target/release/placebench")
GRAPH = "convnet"


def convert(folder, name):
    """Writes the graph in the format of a name, and answers with its path."""
    path = pathlib.Path(folder) / name
    subprocess.run([COMMAND, "convert", GRAPH, str(path)], check=True, capture_output=True, timeout=120)
    return path


class Consumers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.own = json.loads(convert(self.folder.name, "own.nx.json").read_text())
        self.ops = len(self.own["nodes"])
        self.pairs = {(str(edge["source"]), str(edge["target"])) for edge in self.own["edges"]}
        self.costs = {str(node["id"]): float(node["ops"]) for node in self.own["nodes"]}
        self.id_of = {node["name"]: str(node["id"]) for node in self.own["nodes"]}

    def package(self, name):
        try:
            return __import__(name)
        except ImportError as error:
            self.skipTest(f"needs {name}: {error}")

    def check_networkx(self, graph):
        self.assertTrue(graph.is_directed())
        self.assertEqual(graph.number_of_nodes(), self.ops)
        self.assertEqual({(str(a), str(b)) for a, b in graph.edges()}, self.pairs)

    def test_networkx_reads_node_link_json(self):
        networkx = self.package("networkx")
        graph = networkx.node_link_graph(self.own, edges="edges")
        self.check_networkx(graph)
        self.assertTrue(networkx.is_directed_acyclic_graph(graph))
        # And back: what NetworkX writes is the same graph here.
        again = pathlib.Path(self.folder.name) / "again.json"
        again.write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
        back = pathlib.Path(self.folder.name) / "back.nx.json"
        subprocess.run([COMMAND, "convert", str(again), str(back), "--strict"], check=True, timeout=120)
        key = lambda edge: (edge["source"], edge["target"], edge.get("port", -1))
        back = json.loads(back.read_text())
        self.assertEqual(back["nodes"], self.own["nodes"])
        self.assertEqual(sorted(back["edges"], key=key), sorted(self.own["edges"], key=key))

    def test_networkx_reads_graphml_and_gexf(self):
        networkx = self.package("networkx")
        graph = networkx.read_graphml(convert(self.folder.name, "g.graphml"))
        self.check_networkx(graph)
        self.assertEqual({node: values["ops"] for node, values in graph.nodes(data=True)}, self.costs)
        self.check_networkx(networkx.read_gexf(convert(self.folder.name, "g.gexf"), version="1.3"))

    def test_wfcommons_reads_wfformat(self):
        self.package("wfcommons")
        from wfcommons import Instance

        path = convert(self.folder.name, "g.wf.json")
        try:
            instance = Instance(input_instance=path)
        except Exception as error:
            # The schema comes from the network.
            if "raw.githubusercontent.com" not in str(error) and "schema" not in str(error).lower():
                raise
            print(f"without the schema of WfFormat, which cannot be fetched: {type(error).__name__}")
            schema = pathlib.Path(self.folder.name) / "schema.json"
            schema.write_text("{}")
            instance = Instance(input_instance=path, schema_file=schema)
        workflow = instance.workflow
        self.assertEqual(len(workflow.nodes), self.ops)
        edges = {(self.id_of[a], self.id_of[b]) for a, b in workflow.edges}
        self.assertEqual(edges, self.pairs)

    def test_saga_reads_its_json(self):
        self.package("saga")
        from saga import TaskGraph

        file = json.loads(convert(self.folder.name, "g.saga.json").read_text())
        graph = TaskGraph.model_validate(file["task_graph"])
        self.assertEqual({self.id_of[task.name]: task.cost for task in graph.tasks}, self.costs)
        pairs = {(self.id_of[edge.source], self.id_of[edge.target]) for edge in graph.dependencies}
        self.assertEqual(pairs, self.pairs)


if __name__ == "__main__":
    unittest.main()
