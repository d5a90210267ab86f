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

# The rules of WfFormat 1.6 (README of wfcommons/WfFormat), for machines that cannot fetch the schema itself.
TASK_ID = {"type": "string", "pattern": "^[0-9a-zA-Z_.#:/-]+$"}
FILE_ID = {"type": "string", "minLength": 1, "pattern": "^[0-9a-zA-Z_./:#-]*$"}
TEXT = {"type": "string", "minLength": 1}


def a_list(item):
    return {"type": "array", "items": item}


def an_object(required, optional=()):
    return {"type": "object", "properties": {**required, **dict(optional)}, "required": list(required)}


WFFORMAT = an_object(
    {
        "name": TEXT,
        "schemaVersion": {"enum": ["1.6"]},
        "workflow": an_object(
            {
                "specification": an_object(
                    {
                        "tasks": a_list(
                            an_object(
                                {"name": TEXT, "id": TASK_ID, "parents": a_list(TASK_ID), "children": a_list(TASK_ID)},
                                {"inputFiles": a_list(FILE_ID), "outputFiles": a_list(FILE_ID)},
                            )
                        ),
                        "files": a_list(an_object({"id": FILE_ID, "sizeInBytes": {"type": "integer", "minimum": 0}})),
                    }
                ),
                "execution": an_object(
                    {
                        "makespanInSeconds": {"type": "number"},
                        "executedAt": TEXT,
                        "tasks": a_list(
                            an_object(
                                {"id": TASK_ID, "runtimeInSeconds": {"type": "number"}},
                                {"command": an_object({}, {"program": TEXT, "arguments": a_list(TEXT)})},
                            )
                        ),
                    }
                ),
            }
        ),
    },
    {"description": TEXT, "createdAt": TEXT},
)


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
        schema = pathlib.Path(self.folder.name) / "schema.json"
        schema.write_text(json.dumps(WFFORMAT))
        instance = Instance(input_instance=path, schema_file=schema)
        # The schema itself comes from the network, where there is one.
        try:
            Instance(input_instance=path)
        except RuntimeError as error:
            if "Unable to fetch" not in str(error):
                raise
            print(f"without WfCommons' own schema: {error}")
        workflow = instance.workflow
        self.assertEqual(len(workflow.nodes), self.ops)
        edges = {(self.id_of[a], self.id_of[b]) for a, b in workflow.edges}
        self.assertEqual(edges, self.pairs)

    def test_pyarrow_reads_arrow_and_writes_what_comes_back(self):
        self.package("pyarrow")
        from pyarrow import feather

        table = feather.read_table(convert(self.folder.name, "g.arrow"))
        self.assertEqual(dict(enumerate(table["ops"].to_pylist())), {int(op): cost for op, cost in self.costs.items()})
        self.assertEqual(table["name"].to_pylist(), [node["name"] for node in self.own["nodes"]])
        outputs = [node.get("outputs", "") for node in self.own["nodes"]]
        self.assertEqual([";".join(map(str, sizes)) for sizes in table["tensor_bytes"].to_pylist()], outputs)
        inputs = enumerate(table["inputs"].to_pylist())
        found = [(edge["source"], edge["port"], target) for target, edges in inputs for edge in edges]
        edges = [(edge["source"], edge.get("port"), edge["target"]) for edge in self.own["edges"]]
        self.assertEqual(found, edges)
        # And back, as pyarrow and pandas write it: compressed, through data frames, with other widths of numbers.
        again = pathlib.Path(self.folder.name) / "again.feather"
        frame = pathlib.Path(self.folder.name) / "frame.feather"
        feather.write_feather(table, again, compression="zstd")
        feather.write_feather(table.to_pandas(), frame)
        for path in (again, frame):
            back = pathlib.Path(self.folder.name) / "back.nx.json"
            subprocess.run([COMMAND, "convert", str(path), str(back), "--force"], check=True, timeout=120)
            back = json.loads(back.read_text())
            self.assertEqual((back["nodes"], back["edges"]), (self.own["nodes"], self.own["edges"]))

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
