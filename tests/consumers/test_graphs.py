"""Graphs that placebench writes, read by the tools that own the formats: DOT, GraphML, Matrix Market, METIS, hMETIS,
DIMACS, DAX and edge lists. No package reads DIMACS' 'p sp', STG or HyperDAG.

PLACEBENCH names the command. A tool that is not installed skips its test, with the reason.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ.get("PLACEBENCH", "target/release/placebench")
GRAPH = "convnet"

# Prints each op and transfer that SimGrid makes of a DAX file, with its flops or bytes.
SIMGRID = r"""
#include <iostream>
#include <simgrid/s4u.hpp>
int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  const auto dag = simgrid::s4u::create_DAG_from_DAX(argv[1]);
  for (const auto& activity : dag) {
    const bool is_op = dynamic_cast<simgrid::s4u::Exec*>(activity.get()) != nullptr;
    std::cout << (is_op ? "op" : "transfer") << '\t' << activity->get_name() << '\t' << activity->get_remaining() << '\n';
  }
}
"""


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.own = json.loads(cls.convert(GRAPH, "own.nx.json").read_text())
        cls.ops = len(cls.own["nodes"])
        pairs = {(edge["source"], edge["target"]) for edge in cls.own["edges"]}
        cls.pairs = pairs
        cls.joined = {(min(pair), max(pair)) for pair in pairs}
        # The weights of the undirected view: a tensor counts for each of its edges, control edges are left out.
        cls.weights = {}
        for edge in cls.own["edges"]:
            pair = tuple(sorted((edge["source"], edge["target"])))
            if edge.get("bytes", 0) > 0:
                cls.weights[pair] = cls.weights.get(pair, 0) + edge["bytes"]

    @classmethod
    def convert(cls, graph, name):
        """Writes a graph in the format of a name, and answers with its path."""
        path = cls.folder / name
        subprocess.run([COMMAND, "convert", graph, str(path), "--force"], check=True, capture_output=True, timeout=120)
        return path

    def package(self, name):
        try:
            return __import__(name)
        except ImportError as error:
            self.skipTest(f"needs {name}: {error}")

    def program(self, name, package):
        if shutil.which(name) is None:
            self.skipTest(f"needs {name} (Debian: {package})")
        return name

    def joined_of(self, edges, first=0):
        return {(min(a, b) - first, max(a, b) - first) for a, b in edges}

    def test_igraph_reads_graphml(self):
        igraph = self.package("igraph")
        graph = igraph.Graph.Read_GraphML(str(self.convert(GRAPH, "g.graphml")))
        self.assertTrue(graph.is_directed() and graph.is_dag())
        self.assertEqual(set(graph.get_edgelist()), self.pairs)
        self.assertEqual(graph.vs["ops"], [node["ops"] for node in self.own["nodes"]])

    def test_pydot_reads_dot(self):
        pydot = self.package("pydot")
        (graph,) = pydot.graph_from_dot_file(str(self.convert(GRAPH, "g.dot")))
        self.assertEqual(graph.get_type(), "digraph")
        pairs = {(edge.get_source().strip('"'), edge.get_destination().strip('"')) for edge in graph.get_edges()}
        ids = {}
        for node in graph.get_nodes():
            ids.setdefault(node.get_name().strip('"'), node)
        numbers = {str(node["id"]): node["id"] for node in self.own["nodes"]}
        self.assertTrue(set(numbers) <= set(ids))
        self.assertEqual({(numbers[a], numbers[b]) for a, b in pairs}, self.pairs)

    def test_graphviz_reads_dot(self):
        graphviz = self.package("pygraphviz")
        # The library of Graphviz itself; its program `dot` uses it, too.
        graph = graphviz.AGraph(str(self.convert(GRAPH, "g.dot")))
        self.assertTrue(graph.is_directed())
        self.assertEqual(len(graph.edges()), len(self.own["edges"]))
        self.assertEqual({(int(a), int(b)) for a, b in graph.edges()}, self.pairs)
        costs = {int(node): float(node.attr["size"]) for node in graph.nodes()}
        self.assertEqual(costs, {node["id"]: node["ops"] for node in self.own["nodes"]})

    def test_scipy_reads_matrix_market(self):
        self.package("scipy")
        import scipy.io

        matrix = scipy.io.mmread(self.convert(GRAPH, "g.mtx")).tocoo()
        self.assertEqual(matrix.shape, (self.ops, self.ops))
        found = {}
        for row, column, value in zip(matrix.row, matrix.col, matrix.data):
            found[(min(row, column), max(row, column))] = value
            self.assertEqual((matrix.tocsr()[row, column], matrix.tocsr()[column, row]), (value, value))
        self.assertEqual({tuple(map(int, pair)): int(value) for pair, value in found.items()}, self.weights)

    def test_networkx_reads_edge_lists(self):
        networkx = self.package("networkx")
        graph = networkx.read_weighted_edgelist(self.convert(GRAPH, "g.edges"), nodetype=int)
        found = {tuple(sorted(pair)): int(weight) for *pair, weight in graph.edges(data="weight")}
        self.assertEqual(found, self.weights)

    def test_furones_reads_dimacs(self):
        self.package("furones")
        from furones import parser

        path, plain = self.folder / "gnm.col", self.folder / "gnm.edges"
        for out in (path, plain):
            command = [COMMAND, "generate", "gnm(vertices=300,edges=900)", "--out", str(out), "--force"]
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        graph = parser.read(str(path))
        lines = plain.read_text().splitlines()
        edges = [tuple(map(int, line.split()[:2])) for line in lines if not line.startswith("#")]
        self.assertEqual(self.joined_of((int(a), int(b)) for a, b in graph.edges()), self.joined_of(edges))
        self.assertEqual(len(edges), 900)

    def judged(self, path, *more):
        """What placebench says of a partition into four blocks of a file."""
        command = [COMMAND, "partition", str(path), "-k", "4", "--json", *more]
        return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)

    def assert_good(self, path, partition, figure, expected):
        """The blocks are balanced, the tool's figure is ours, and it is lower than when vertices are drawn."""
        found = self.judged(path, "--evaluate", str(partition))
        self.assertEqual(found[figure], expected)
        drawn = self.judged(path, "-a", "hashing", "-o", str(self.folder / "drawn.part"))
        self.assertLess(found[figure], drawn[figure])
        total = self.total_weight(path)
        self.assertLess(total, 2**31)
        # A tool may exceed its tolerance of 3 % by a vertex.
        self.assertLessEqual(found["largest_block_weight"], 1.03 * total / 4 + self.heaviest)
        self.assertGreater(found["least_block_weight"], 0)

    def total_weight(self, path):
        """The sum of the vertex weights in a METIS or hMETIS file; the heaviest is kept."""
        lines = path.read_text().splitlines()
        first, second = map(int, lines[0].split()[:2])
        rows = lines[1 : first + 1] if path.suffix == ".graph" else lines[first + 1 :]
        weights = [int(row.split()[0]) for row in rows]
        self.assertEqual(len(weights), first if path.suffix == ".graph" else second)
        self.heaviest = max(weights)
        return sum(weights)

    def test_mt_kahypar_partitions_metis_and_hmetis(self):
        mtkahypar = self.package("mtkahypar")
        try:
            mt = mtkahypar.initialize(1)
        except Exception as error:
            self.skipTest(f"Mt-KaHyPar does not start: {error}")
        context = mt.context_from_preset(mtkahypar.PresetType.DEFAULT)
        path, nets_path = self.convert(GRAPH, "g.graph"), self.convert(GRAPH, "g.hgr")
        context.set_partitioning_parameters(4, 0.03, mtkahypar.Objective.CUT)
        graph = mt.graph_from_file(str(path), context, mtkahypar.FileFormat.METIS)
        partition = graph.partition(context)
        partition.write_partition_to_file(str(path) + ".mt")
        self.assert_good(path, str(path) + ".mt", "cut", partition.cut())
        context.set_partitioning_parameters(4, 0.03, mtkahypar.Objective.KM1)
        nets = mt.hypergraph_from_file(str(nets_path), context, mtkahypar.FileFormat.HMETIS)
        partition = nets.partition(context)
        partition.write_partition_to_file(str(nets_path) + ".mt")
        self.assert_good(nets_path, str(nets_path) + ".mt", "connectivity", partition.km1())

    def test_metis_partitions_what_is_written(self):
        gpmetis = self.program("gpmetis", "metis")
        path = self.convert(GRAPH, "g.graph")
        done = subprocess.run([gpmetis, str(path), "4"], check=True, capture_output=True, text=True, timeout=120)
        self.assertIn(f"#Vertices: {self.ops}", done.stdout)
        cut = int(re.search(r"Edgecut: (\d+)", done.stdout)[1])
        self.assert_good(path, f"{path}.part.4", "cut", cut)

    def test_simgrid_loads_dax(self):
        compiler = self.program("g++", "g++")
        if not pathlib.Path("/usr/include/simgrid/s4u.hpp").exists():
            self.skipTest("needs SimGrid (Debian: libsimgrid-dev)")
        source, loader = self.folder / "load.cpp", self.folder / "load"
        source.write_text(SIMGRID)
        build = [compiler, "-std=c++17", "-o", str(loader), str(source), "-lsimgrid"]
        built = subprocess.run(build, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        # A small graph: the loader's time grows with the number of paths.
        graph = "fft(points=8)"
        nodes = json.loads(self.convert(graph, "small.nx.json").read_text())["nodes"]
        run = [loader, str(self.convert(graph, "small.dax"))]
        done = subprocess.run(run, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        rows = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
        ops = {row[1].split("@")[0]: float(row[2]) for row in rows if row[0] == "op"}
        # The loader adds 'root' and 'end', and takes a second as 4.2e9 flops.
        expected = {f"ID{node['id']:05}": 4.2e9 * node["ops"] for node in nodes}
        self.assertEqual({name: flops for name, flops in ops.items() if name not in ("root", "end")}, expected)
        self.assertGreater(sum(row[0] == "transfer" for row in rows), 0)


if __name__ == "__main__":
    unittest.main()
