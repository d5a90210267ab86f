"""What docs/PYTHON.md promises, beyond the code that it shows. Run by .ci/run in a virtual environment that has the wheel:

    python -m unittest discover -s python/tests

PLACEBENCH names the command, with which results are compared.
"""

import csv
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import networkx
import numpy as np
import pandas
import polars as pl
import pyarrow

import placebench as pb

COMMAND = os.environ.get("PLACEBENCH")

SUITE = {
    "name": "small",
    "repetitions": 2,
    "networks": ["contention_free", "one_port"],
    "placers": ["heft", "random", "scoring(alpha=2)"],
    "graph": [{"catalogue": "convnet"}, {"catalogue": "convnet", "name": "drawn", "costs": "laich"}],
    "cluster": [{"preset": "laich7", "memory": "unlimited"}],
}

# Columns that depend on the clock, the process or the machine.
MEASURED = ["place_seconds", "simulate_seconds", "peak_rss_bytes", "host", "processor", "commit"]


def fork(**more):
    """Op 0 sends 100 bytes to op 1 and 50 bytes to op 2: costs 30, 50 and 20."""
    return pb.Graph.from_edges([0, 0], [1, 2], [30.0, 50.0, 20.0], edge_bytes=[100, 50], **more)


def two():
    """Two devices of 10 operations and 25 bytes a time unit."""
    return pb.Cluster.uniform(2, speed=10.0, rate=25.0)


def interrupt_after(seconds):
    """Ctrl-C, some seconds from now."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def setUpModule():
    """Shells start background jobs with SIGINT ignored, and Python leaves that so: then interrupt_after() would stop nothing."""
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.addModuleCleanup(signal.signal, signal.SIGINT, earlier)


class Graphs(unittest.TestCase):
    def test_a_graph_of_edge_arrays_has_what_the_arrays_say(self):
        graph = fork(memory_bytes=[1, 2, 3], kinds=["ALL", "CPU|GPU", "GPU"], names=["a", "b", "c"])
        self.assertEqual((len(graph), graph.edge_count, graph.tensor_count), (3, 2, 2))
        self.assertEqual(graph.costs.tolist(), [30.0, 50.0, 20.0])
        self.assertEqual(graph.memory_bytes.tolist(), [1, 2, 3])
        self.assertEqual((graph.sources.tolist(), graph.targets.tolist()), ([0, 0], [1, 2]))
        self.assertEqual(graph.offsets.tolist(), [0, 2, 2, 2])
        self.assertEqual(graph.edge_bytes.tolist(), [100, 50])
        self.assertEqual((graph.names, graph.kinds), (["a", "b", "c"], ["ALL", "CPU|GPU", "GPU"]))
        self.assertIsNone(graph.types)

    def test_one_output_of_an_op_is_one_tensor_and_edges_without_bytes_only_order(self):
        shared = pb.Graph.from_edges([0, 0], [1, 2], [1, 1, 1], output_bytes=[8, 0, 0])
        self.assertEqual((shared.tensor_count, shared.edge_bytes.tolist()), (3, [8, 8]))
        self.assertEqual(pb.Graph.from_edges([0], [1], [1, 1]).tensor_count, 0)
        self.assertEqual(len(pb.Graph.from_edges([], [], [1.0])), 1)

    def test_all_types_of_integers_give_the_same_graph_and_arrays_in_pieces_too(self):
        for dtype in ("uint8", "int16", "int32", "uint32", "int64", "uint64"):
            same = pb.Graph.from_edges(
                np.array([0, 0], dtype), np.array([1, 2], dtype), np.array([30, 50, 20], dtype),
                edge_bytes=np.array([100, 50], dtype),
            )
            self.assertEqual(same, fork(), dtype)
        strided = np.array([[0, 1], [0, 2]])
        self.assertEqual(pb.Graph.from_edges(strided[:, 0], strided[:, 1], pl.Series([30.0, 50, 20]), edge_bytes=[100, 50]), fork())

    def test_arrays_of_a_graph_are_its_own_memory_and_cannot_be_written(self):
        graph = pb.load("nmt")
        for name in ("costs", "memory_bytes", "tensor_bytes", "producers", "offsets", "targets"):
            first, again = getattr(graph, name), getattr(graph, name)
            self.assertEqual(first.__array_interface__["data"], again.__array_interface__["data"], name)
            self.assertFalse(first.flags.owndata or first.flags.writeable, name)
            with self.assertRaises(ValueError):
                first[0] = 1
        costs, total = graph.costs, graph.costs.sum()
        del graph
        self.assertEqual(costs.sum(), total, "the array keeps the graph alive")

    def test_wrong_arrays_are_refused_by_name(self):
        for call, expected in [
            (lambda: pb.Graph.from_edges([0, 1], [1], [1, 1]), "targets: has 1 entries for 2 edges: give one for each edge"),
            (lambda: pb.Graph.from_edges([0], [2], [1, 1]), "targets: entry 0 is op 2, but there are 2 ops, from 0"),
            (lambda: pb.Graph.from_edges([-1], [1], [1, 1]), "sources: entry 0 is op -1, but there are 2 ops, from 0"),
            (lambda: pb.Graph.from_edges([0.5], [1], [1, 1]), "sources: holds float64: give whole numbers"),
            (lambda: pb.Graph.from_edges([0], [1], ["x", "y"]), "costs: could not convert string to float"),
            (lambda: pb.Graph.from_edges([0], [1], [[1, 1]]), "costs: is no list of numbers"),
            (lambda: pb.Graph.from_edges([0], [1], [1, -1]), "op 1 costs -1: "),
            (lambda: pb.Graph.from_edges([0, 1], [1, 0], [1, 1]), "cycle"),
            (lambda: fork(output_bytes=[1, 2, 3]), "not both"),
            (lambda: fork(kinds=["CPU"]), "kinds: has 1 entries for 3 ops"),
            (lambda: fork(kinds=["CPU", "NPU", "GPU"]), "kinds: op 1: "),
            (lambda: pb.load("nmtt"), "no file and no graph is named 'nmtt': did you mean 'nmt'?"),
            (lambda: pb.load("nmt", cycles="drop"), "are for files, not for 'nmt'"),
            (lambda: pb.Cluster.load("gtx1080y4"), "no file and no cluster is named 'gtx1080y4': did you mean"),
            (lambda: pb.Cluster.load("gtx1080x4", devices=99), "not 99: ask for 1 to 6"),
            (lambda: pb.Cluster.uniform(0, speed=1, rate=1), "a cluster needs at least one device"),
            (lambda: pb.generate({"leveled": {"nods": 5}}), "generate: unknown field `nods`: did you mean `nodes`?"),
            (lambda: pb.names("placer"), "did you mean 'placers'?"),
        ]:
            with self.assertRaises(pb.Error) as raised:
                call()
            self.assertIn(expected, str(raised.exception))

    def test_passes_make_another_graph_and_say_where_its_ops_come_from(self):
        graph = pb.load("convnet")
        divided, origins, lines = graph.passed("prune", "microbatch(2)")
        self.assertEqual(divided.name, "convnet+prune+microbatch(m=2)")
        self.assertEqual([line.split(":")[0] for line in lines], ["prune", "microbatch(m=2)"])
        self.assertEqual(len(origins), len(divided))
        for op, old in enumerate(origins):
            # A sum of gradients comes from no op, all others from one, whose name begins theirs.
            self.assertLessEqual(len(old), 1)
            if old:
                self.assertTrue(divided.names[op].startswith(graph.names[old[0]]))
        made = pb.place(divided, "gtx1080x4", "heft")
        by_name = pb.place("convnet+prune+microbatch(2)", "gtx1080x4", "heft")
        self.assertEqual((made.makespan, made.row["passes"]), (by_name.makespan, "prune+microbatch(m=2)"))
        self.assertEqual(by_name.row["passes"], made.row["passes"])
        with self.assertRaisesRegex(pb.Error, "unknown pass 'prun': did you mean 'prune'"):
            graph.passed("prun")

    def test_place_and_simulate_take_passes_and_tell_what_they_did(self):
        graph = pb.load("convnet")
        for given in [graph, "convnet"]:
            found = pb.place(given, "gtx1080x4", "heft", network="one_port", passes=["cse", "compress"])
            self.assertEqual(found.row["graph"], "convnet+cse+compress")
            self.assertEqual(found.row["passes"], "cse+compress")
            self.assertEqual([line.split(":")[0] for line in found.passed["lines"]], ["cse", "compress"])
            plain = pb.place("convnet+cse", "gtx1080x4", "heft", network="one_port")
            self.assertEqual(found.passed["without"]["passes"], "compress")
            self.assertEqual(found.passed["without"]["makespan"], plain.makespan)
            self.assertEqual(pb.place(given, "gtx1080x4", passes="cse").makespan, pb.place(given, "gtx1080x4", passes=["cse"]).makespan)
            again = pb.simulate(given, "gtx1080x4", found.placement, network="one_port", passes=["cse", "compress"])
            self.assertEqual((again.makespan, again.row["traffic_bytes"]), (found.makespan, found.row["traffic_bytes"]))
        self.assertEqual(len(graph), 225)
        self.assertIsNone(pb.place(graph, "gtx1080x4", "heft").passed)
        with self.assertRaisesRegex(pb.Error, "give it before 'compress'"):
            pb.place(graph, passes=["compress", "cse"])

    def test_attributes_that_are_not_known_are_none(self):
        graph = fork(types=["A", "B", "B"], attributes=["x", None, ""])
        self.assertEqual(graph.attributes, ["x", None, None])
        for attributes, ops in [(["x", "y", "y"], 2), (["x", "y", "z"], 3), (["x", None, None], 3), (["x", "", ""], 3)]:
            graph = pb.Graph.from_edges(
                [0, 0], [1, 2], [1, 1, 1], output_bytes=[8, 4, 4], types=["A", "B", "B"], attributes=attributes
            )
            self.assertEqual(len(graph.passed("cse")[0]), ops)

    def test_files_are_written_and_read_and_losses_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            graph, path = fork(kinds=["GPU", "ALL", "ALL"]), pathlib.Path(folder)
            self.assertEqual(graph.save(path / "graph"), [])
            self.assertEqual(pb.load(path / "graph"), graph)
            self.assertTrue(pb.convert(path / "graph", path / "graph.stg"))
            with self.assertRaisesRegex(pb.Error, "exists: force=True replaces it"):
                graph.save(path / "graph.stg")
            with self.assertRaisesRegex(pb.Error, "loses .*device kinds"):
                graph.save(path / "graph.stg", strict=True, force=True)
            two().save(path / "two.toml")
            self.assertEqual(pb.Cluster.load(path / "two.toml"), two())

    def test_networkx_there_and_back(self):
        graph = fork(kinds=["GPU", "ALL", "ALL"], names=["a", "b", "c"], colocated=[(0, 1)])
        self.assertEqual(pb.from_networkx(pb.to_networkx(graph)), graph)
        self.assertEqual(pb.to_networkx(graph).number_of_edges(), 2)
        own = networkx.DiGraph()
        own.add_node(("a", 1), ops=np.float64(30))
        own.add_node("b", ops=50)
        own.add_edge(("a", 1), "b", bytes=np.int64(100))
        read = pb.from_networkx(own, name="own")
        self.assertEqual((read.name, read.names), ("own", ["('a', 1)", "b"]))
        self.assertEqual((read.costs.tolist(), read.edge_bytes.tolist()), ([30.0, 50.0], [100]))
        own.add_edge("b", ("a", 1))
        with self.assertRaisesRegex(pb.Error, "cycle"):
            pb.from_networkx(own)
        with self.assertRaisesRegex(pb.Error, "the NetworkX graph.*undirected"):
            pb.from_networkx(networkx.path_graph(3))


class Placing(unittest.TestCase):
    def test_makespans_computed_by_hand(self):
        # On one device 3 + 5 + 2. With op 1 elsewhere it starts after 3 + 100 / 25 and takes 5.
        for placement, makespan in [([0, 0, 0], 10.0), ([0, 1, 0], 12.0), (["d0", "d0", "d1"], 8.0)]:
            found = pb.simulate(fork(), two(), placement)
            self.assertEqual((found.makespan, found.time_unit), (makespan, "EU"))
        self.assertEqual(found.devices, ["d0", "d0", "d1"])
        self.assertEqual(found.placement.tolist(), [0, 0, 1])
        self.assertEqual(found.row["traffic_bytes"], 50)
        # With 7 EU of latency op 2 ends at 3 + 7 + 50 / 25 + 2.
        late = pb.Cluster.uniform(2, speed=10.0, rate=25.0, latency=7.0)
        self.assertEqual(pb.simulate(fork(), late, [0, 0, 1]).makespan, 14.0)

    def test_the_timeline_says_when_and_where(self):
        frame = pb.simulate(fork(names=["a", "b", "c"]), two(), [0, 0, 1]).timeline.to_polars()
        self.assertEqual(frame.columns, ["what", "op", "name", "device", "to", "bytes", "start", "finish"])
        self.assertEqual(frame.rows(), [
            ("op", 0, "a", "d0", None, None, 0.0, 3.0),
            ("op", 1, "b", "d0", None, None, 3.0, 8.0),
            ("op", 2, "c", "d1", None, None, 5.0, 7.0),
            ("transfer", 0, "a", "d0", "d1", 50, 3.0, 5.0),
        ])

    def test_place_gives_the_row_that_a_run_has(self):
        rows = pb.run(SUITE).to_polars()
        row = rows.row(by_predicate=(pl.col("graph") == "convnet") & (pl.col("placer") == "heft") & (pl.col("seed") == 1)
                       & (pl.col("network") == "one_port"), named=True)
        found = pb.place("convnet", "laich7", "heft", network="one_port", seed=1, memory="unlimited").row
        differ = {name for name in row if row[name] != found[name] and name not in MEASURED}
        # place has no suite, and so no repetition.
        self.assertLessEqual(differ, {"suite", "repetition"})
        self.assertGreater(found["makespan"], 0)

    def test_under_noise_a_placement_takes_longer_than_predicted(self):
        plain = pb.place("convnet", "gtx1080x4", "heft")
        found = pb.place("convnet", "gtx1080x4", "heft", noise=0.3)
        row = found.row
        self.assertEqual((row["executor"], row["repetitions"], plain.row["stretch"]), ("noise(0.3)", 100, None))
        self.assertAlmostEqual(row["makespan"] / row["stretch"], plain.makespan)
        self.assertLess(row["makespan"], row["makespan_p95"])
        again = pb.simulate("convnet", "gtx1080x4", found.placement, noise="op=0.3,transfer=0.3")
        self.assertEqual(again.makespan, found.makespan)
        self.assertIn("mean", pb.place.__doc__)
        with self.assertRaisesRegex(pb.Error, "'noise' has no parameter 'opp': did you mean 'op'"):
            pb.place("convnet", "gtx1080x4", "heft", noise="opp=0.3")

    def test_a_graph_carries_its_rule_for_kinds_unless_the_call_says_otherwise(self):
        for graph in ["dynamic_rnn", pb.load("dynamic_rnn")]:
            by_default = pb.place(graph, "gtx1080x4", "etf")
            self.assertEqual(by_default.row["kinds"], "accelerators_only")
            self.assertEqual(f"{by_default.makespan * 1e6:.0f} µs", "431 µs", "as in the table of the README")
            as_given = pb.place(graph, "gtx1080x4", "etf", kinds="as_given")
            self.assertEqual((as_given.row["kinds"], f"{as_given.makespan * 1e6:.0f} µs"), ("as_given", "797 µs"))
        self.assertEqual(pb.place(fork(), two(), "heft").row["kinds"], "as_given")

    def test_a_graph_object_is_placed_as_its_name_is(self):
        by_name = pb.place("lstm_lm", "gtx1080x4", "peft", kinds="accelerators_only", devices=3)
        made = pb.place(pb.load("lstm_lm"), pb.Cluster.load("gtx1080x4"), "peft", kinds="accelerators_only", devices=3)
        self.assertEqual(by_name.makespan, made.makespan)
        self.assertEqual(by_name.placement.tolist(), made.placement.tolist())
        self.assertEqual(made.row["graph"], "lstm_lm")
        self.assertEqual(pb.simulate("lstm_lm", "gtx1080x4", made.placement, kinds="accelerators_only", devices=3).makespan, made.makespan)

    def test_what_is_wrong_is_an_exception_with_the_words_of_the_command_line(self):
        gpu = pb.Graph.from_edges([], [], [1.0], kinds=["GPU"])
        cpus = pb.Cluster.uniform(2, speed=1, rate=1, kind="CPU")
        big = pb.Graph.from_edges([], [], [1.0], memory_bytes=[100])
        small = pb.Cluster.uniform(1, speed=1, rate=1, memory_bytes=10)
        for call, kind, expected in [
            (lambda: pb.place("nmt", placer="hefd"), pb.Error, "did you mean 'heft'?"),
            (lambda: pb.place("nmt", placer="heft(alpha=1)"), pb.Error, "alpha"),
            (lambda: pb.place("nmt", scheduler="online"), pb.Error, "heft decides before the run: give a scheduler, such as pct"),
            (lambda: pb.place("nmt", placer="cats", scheduler="pct"), pb.Error, "cats decides during the run"),
            (lambda: pb.place("nmt", kinds="all"), pb.Error, "use as_given or accelerators_only"),
            (lambda: pb.place("nmt", network="none"), pb.Error, "none"),
            (lambda: pb.place("nmt", devices=99), pb.Error, "not 99"),
            (lambda: pb.place("nmt", time_limit=0), pb.Error, "must be above 0"),
            (lambda: pb.place("nmt", placer=3), pb.Error, "a placer is a name"),
            (lambda: pb.place(gpu, cpus), pb.Error, "may run only on GPU, and the cluster has no such device"),
            (lambda: pb.place(big, small), pb.Infeasible, "the memory rule peak refuses the run"),
            (lambda: pb.place(big, small, memory="static"), pb.Infeasible, "no feasible device"),
            (lambda: pb.simulate(fork(), two(), [0, 0]), pb.Error, "the placement has 2 entries, but the graph has 3 ops"),
            (lambda: pb.simulate(fork(), two(), [0, 0, 2]), pb.Error, "op 2 is placed on device 2, but the cluster has only 2"),
            (lambda: pb.simulate(fork(), two(), ["d0", "d0", "dd1"]), pb.Error, "op 2 is on 'dd1', which is no device: did you mean 'd1'?"),
            (lambda: pb.simulate(fork(), two(), [0, 0, -1]), pb.Error, "op 2 is on -1, which is no device"),
        ]:
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(expected, str(raised.exception))

    def test_the_time_limit_ends_a_search(self):
        started = time.monotonic()
        with self.assertRaisesRegex(pb.TimedOut, "within the time limit of 0.5 s"):
            pb.place("nmt", placer="simulated_annealing(budget=1000000000)", time_limit=0.5)
        self.assertLess(time.monotonic() - started, 20)

    def test_ctrl_c_ends_a_search_and_other_threads_go_on_meanwhile(self):
        steps, over = 0, threading.Event()

        def count():
            nonlocal steps
            while not over.is_set():
                steps += 1
                time.sleep(0.001)

        other = threading.Thread(target=count)
        other.start()
        timer, started = interrupt_after(1.0), time.monotonic()
        try:
            with self.assertRaises(KeyboardInterrupt):
                pb.place("nmt", placer="simulated_annealing(budget=1000000000)")
        finally:
            timer.cancel()
            over.set()
            other.join()
        self.assertLess(time.monotonic() - started, 20)
        self.assertGreater(steps, 20, "the other thread waited for the search")

    def test_figures_are_drawn(self):
        found = pb.simulate(fork(names=["a", "b", "c"]), two(), [0, 0, 1])
        figure = found.gantt(width="single", page="dark")
        self.assertTrue(found._repr_svg_().startswith("<svg"))
        self.assertIn("c on d1: 5 EU to 7 EU", figure.svg())
        self.assertTrue(figure.png(dpi=72).startswith(b"\x89PNG"))
        self.assertIn("d1,c,op,5,7", figure.csv())
        with tempfile.TemporaryDirectory() as folder:
            for name in ("f.svg", "f.png", "f.pdf", "f.tex", "f.csv"):
                figure.save(pathlib.Path(folder, name))
                self.assertGreater(pathlib.Path(folder, name).stat().st_size, 50)
            found.save_trace(pathlib.Path(folder, "t.json"))
            self.assertIn("traceEvents", pathlib.Path(folder, "t.json").read_text())
            with self.assertRaisesRegex(pb.Error, "use .svg, .png, .pdf, .tex or .csv"):
                figure.save(pathlib.Path(folder, "f.bmp"))
            self.assertTrue(pathlib.Path(folder, "f.pdf").read_bytes().startswith(b"%PDF"))
            self.assertIn("tikzpicture", pathlib.Path(folder, "f.tex").read_text())
        with self.assertRaisesRegex(pb.Error, "use single"):
            found.gantt(width="half")


class Partitions(unittest.TestCase):
    def test_a_path_of_four_is_cut_in_the_middle(self):
        for edges in [([0, 1, 2], [1, 2, 3]), ([0, 1, 2], [1, 2, 3], [5, 1, 5])]:
            found = pb.partition(edges, 2, epsilon=0.0)
            self.assertEqual((found.cut, found.imbalance, found.blocks), (1, 0.0, 2))
            self.assertEqual(len(set(found.block_of[:2])), 1)
            self.assertEqual((found.traffic, found.acyclic), (None, None))

    def test_a_dataflow_graph_has_traffic_and_a_graph_of_blocks(self):
        found = pb.partition(fork(), 2, vertex_weight="count", epsilon=0.1)
        self.assertEqual((len(found), found.cut, found.traffic, found.acyclic), (3, 50, 50, True))
        self.assertEqual(sorted(found.weights.tolist()), [1, 2])
        with tempfile.TemporaryDirectory() as folder:
            found.save(pathlib.Path(folder, "p"))
            self.assertEqual(pathlib.Path(folder, "p").read_text().split(), [str(block) for block in found.block_of])

    def test_a_name_and_a_graph_give_the_same(self):
        by_name, made = (pb.partition(graph, 4, "multilevel", seed=3) for graph in ("nmt", pb.load("nmt")))
        self.assertEqual(by_name.block_of.tolist(), made.block_of.tolist())

    @unittest.skipUnless(COMMAND, "PLACEBENCH does not name the command")
    def test_the_command_line_finds_the_same_partition(self):
        out = subprocess.run([COMMAND, "partition", "nmt", "-k", "4", "--seed", "3", "-o", "-"], capture_output=True, text=True, check=True)
        self.assertEqual(pb.partition("nmt", 4, seed=3).block_of.tolist(), [int(line) for line in out.stdout.split()])

    def test_what_is_wrong_is_refused(self):
        for call, expected in [
            (lambda: pb.partition(([0], [1, 2]), 2), "targets: has 2 entries for 1 edges"),
            (lambda: pb.partition(([0], [-1]), 2), "targets: entry 0 is -1"),
            (lambda: pb.partition(([0],), 2), "(sources, targets)"),
            (lambda: pb.partition(([0], [1]), 0), "at least 1 is needed"),
            (lambda: pb.partition(([0], [1]), 2, "metiss"), "did you mean 'metis'?"),
            (lambda: pb.partition(([0], [1]), 2, vertices="units"), "are for dataflow graphs"),
            (lambda: pb.partition(fork(), 2, edge_weight="time"), "cluster"),
        ]:
            with self.assertRaises(pb.Error) as raised:
                call()
            self.assertIn(expected, str(raised.exception))


class Suites(unittest.TestCase):
    def test_a_dictionary_runs_as_its_file_does_and_threads_change_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "small.toml")
            path.write_text(pb.run(SUITE, where="graph=convnet seed=0").suite)
            self.assertIn("where", path.read_text())
            whole = pb.run(SUITE)
            path.write_text(whole.suite)
            frames = [run.to_polars().drop(MEASURED) for run in (whole, pb.run(path, threads=1), pb.run(SUITE, out=folder + "/run"))]
        self.assertEqual(len(whole), 2 * 2 * 3 * 2)
        self.assertTrue(frames[0].equals(frames[1]) and frames[0].equals(frames[2]))
        self.assertEqual(set(frames[0]["status"]), {"ok"})

    @unittest.skipUnless(COMMAND, "PLACEBENCH does not name the command")
    def test_the_command_line_has_the_same_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "small.toml")
            results = pb.run(SUITE)
            path.write_text(results.suite)
            subprocess.run([COMMAND, "run", path, "--out", folder + "/run", "--quiet"], capture_output=True, check=True)
            theirs = pb.read_results(folder + "/run").to_polars().drop(MEASURED)
            self.assertTrue(results.to_polars().drop(MEASURED).equals(theirs))

    @unittest.skipUnless(COMMAND, "PLACEBENCH does not name the command")
    def test_the_command_line_has_the_same_means_and_order(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pb.run(SUITE, out=folder + "/run")
            ranking = subprocess.run([COMMAND, "rank", folder + "/run", "--json"], capture_output=True, text=True, check=True)
            entries = json.loads(ranking.stdout)["entries"]
            (pareto,) = results.figures("pareto")
            points = list(csv.DictReader(pareto.csv().splitlines()))
            self.assertEqual([point["algorithm"].rstrip("°") for point in points], [entry["name"] for entry in entries])
            for point, entry in zip(points, entries):
                self.assertAlmostEqual(float(point["makespan_per_best"]), entry["mean_ratio"], delta=1e-5 * entry["mean_ratio"])
            lines = [line.split()[0].rstrip("°") for line in results.summary().splitlines() if line]
            listed = [name for name in lines if name in {entry["name"] for entry in entries}]
            self.assertEqual(listed[: len(entries)], [entry["name"] for entry in entries])

    def test_tables_go_to_polars_pyarrow_and_pandas_and_memory_is_shared(self):
        results = pb.run(SUITE, where="graph=convnet")
        frame = pl.DataFrame(results)
        self.assertTrue(frame.equals(results.to_polars()))
        self.assertEqual((frame.columns, frame.height), (results.columns, len(results)))
        tables = [pyarrow.table(results) for _ in range(2)]
        self.assertEqual(tables[0]["makespan"].to_pylist(), frame["makespan"].to_list())
        addresses = {table["makespan"].chunk(0).buffers()[1].address for table in tables}
        self.assertEqual(len(addresses), 1, "each export copied the column")
        self.assertEqual(pandas.Series(results.to_pandas()["placer"]).tolist(), frame["placer"].to_list())
        self.assertIn("<table", results.to_polars()._repr_html_())
        self.assertEqual(frame.schema["seed"], pl.UInt64)

    def test_results_are_read_filtered_summarised_drawn_and_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pb.run(SUITE, out=folder + "/run")
            again = pb.read_results(folder + "/run")
            self.assertTrue(again.to_polars().equals(results.to_polars()))
            with self.assertRaisesRegex(pb.Error, "holds a complete run of this suite: read it with read_results"):
                pb.run(SUITE, out=folder + "/run")
            self.assertEqual(set(results.filter("placer=heft").to_polars()["placer"]), {"heft"})
            with self.assertRaisesRegex(pb.Error, "did you mean 'heft'"):
                results.filter("placer=hefft")
            self.assertIn("heft", results.summary())
            self.assertIn("<pre>", results._repr_html_())
            (gantt,) = results.figures("gantt", cells=["convnet/heft/pct"])
            self.assertIn("placed by heft", gantt.svg())
            self.assertIn("<html", results.report().read_text())
            results.save(folder + "/table.csv")
            self.assertEqual(pl.read_csv(folder + "/table.csv").height, len(results))
        in_memory = pb.run(SUITE)
        self.assertIn("<svg", in_memory.figures("heat", metric="slr")[0]._repr_svg_())
        self.assertGreater(len(in_memory.figures()), 2)
        of_period = pb.run({**SUITE, "objective": "period"})
        self.assertEqual(of_period.figures("heat")[0].svg(), of_period.figures("heat", metric="period")[0].svg())
        self.assertNotEqual(of_period.figures("heat")[0].svg(), of_period.figures("heat", metric="makespan")[0].svg())
        for call, expected in [
            (lambda: in_memory.figures("gantt"), "run the suite with out"),
            (lambda: in_memory.figures("heatt"), "unknown kind of figure 'heatt'"),
            (lambda: in_memory.figures("prediction"), "it needs cells of an executor that measures"),
            (lambda: in_memory.report(), "run the suite with out"),
        ]:
            with self.assertRaises(pb.Error) as raised:
                call()
            self.assertIn(expected, str(raised.exception))

    def test_progress_counts_to_the_end(self):
        told = []
        pb.run(SUITE, progress=lambda done, cells: told.append((done, cells)))
        self.assertEqual(told[-1], (24, 24))
        self.assertEqual(told, sorted(told))

    def test_ctrl_c_ends_a_run_which_goes_on_in_its_folder(self):
        suite = {**SUITE, "repetitions": 1, "placers": ["heft", "simulated_annealing(budget=1000000000)"], "networks": ["contention_free"]}
        with tempfile.TemporaryDirectory() as folder:
            timer = interrupt_after(2.0)
            with self.assertRaises(KeyboardInterrupt):
                pb.run(suite, out=folder + "/run")
            timer.cancel()
            self.assertEqual(set(pb.read_results(folder + "/run").to_polars()["placer"]), {"heft"})

    def test_wrong_suites_are_refused_with_the_words_of_a_suite_file(self):
        for change, expected in [
            ({"placer": [], "placrs": []}, "suite: unknown field `placrs`: did you mean `placers`?"),
            ({"placers": ["hefd"]}, "suite: placers: "),
            ({"graph": [{"catalogue": "nmtt"}]}, "did you mean 'nmt'?"),
            ({"graph": [{"file": "nowhere.dot"}]}, "nowhere.dot: no such file or folder"),
            ({"graph": []}, "suite: [[graph]]: give at least one"),
            ({"name": "a b"}, "suite: name: use letters, digits, '-' and '_'"),
            ({"repetitions": "two"}, "suite: invalid type: string \"two\""),
            ({"seed": {1j}}, "has no place in it"),
            ({"time_limit_seconds": math.nan}, "suite: "),
            ({"placers": [lambda instance, seed: []]}, "put @placebench.placer before it"),
        ]:
            with self.assertRaises(pb.Error) as raised:
                pb.run({**SUITE, **change})
            self.assertIn(expected, str(raised.exception))
        with self.assertRaisesRegex(pb.Error, "missing field `name`"):
            pb.run({key: value for key, value in SUITE.items() if key != "name"})
        with self.assertRaisesRegex(pb.Error, "unknown suite 'defaul': did you mean 'default'?"):
            pb.run("defaul")
        with self.assertRaisesRegex(pb.Error, "where: no row has graph 'x'"):
            pb.run(SUITE, where="graph=x")

    def test_graphs_and_clusters_in_memory_run(self):
        suite = {**SUITE, "repetitions": 1, "graph": [fork(name="fork"), {"catalogue": "convnet"}], "cluster": [two()]}
        frame = pb.run(suite, where="graph=fork placer=heft network=contention_free").to_polars()
        self.assertEqual(frame.select("graph", "cluster", "makespan").rows(), [("fork", "uniform", pb.place(fork(), two()).makespan)])
        with self.assertRaisesRegex(pb.Error, "the graph 'fork' is in memory only"):
            pb.run(suite, out="never")


@pb.placer
def first_device(instance, seed):
    """Each op on the first device that suits its unit."""
    return instance.allowed.argmax(axis=1)


class Placers(unittest.TestCase):
    def test_a_function_stands_in_a_suite_beside_others_and_is_judged_alike(self):
        @pb.placer(name="as_heft")
        def copied(instance, seed):
            return pb.place(instance.graph, instance.cluster, "heft").placement

        suite = {**SUITE, "placers": ["heft", first_device, copied], "repetitions": 1}
        frame = pb.run(suite).to_polars()
        self.assertEqual(set(frame["status"]), {"ok"})
        by = {name: frame.filter(pl.col("placer") == name) for name in ("heft", "first_device", "as_heft")}
        self.assertEqual(by["heft"]["makespan"].to_list(), by["as_heft"]["makespan"].to_list())
        instance = pb.Instance("convnet", "laich7", memory="unlimited")
        alone = pb.simulate(instance.graph, instance.cluster, first_device(instance, 0), memory="unlimited")
        self.assertEqual(by["first_device"]["makespan"][0], alone.makespan)
        # On convnet both use one device, on the drawn graph they do not.
        self.assertNotEqual(by["heft"]["makespan"].to_list(), by["first_device"]["makespan"].to_list())

    def test_what_a_placer_sees_is_the_instance(self):
        seen = {}

        @pb.placer
        def looks(instance, seed):
            seen.update(seed=seed, times=instance.times, allowed=instance.allowed, order=list(instance.topological_order),
                        unit=instance.time_unit, units=list(instance.units), rule=instance.memory_rule,
                        demands=list(instance.demands), limits=instance.peak_limits)
            return ["d1"] * len(instance.graph)

        graph = fork(kinds=["ALL", "CPU|GPU", "GPU"], colocated=[(1, 2)])
        found = pb.place(graph, two(), looks, seed=7, memory="static")
        self.assertEqual((found.makespan, found.row["placer"]), (10.0, "looks"))
        self.assertEqual((seen["seed"], seen["unit"], seen["rule"], seen["limits"]), (7, "EU", "static", [None, None]))
        np.testing.assert_array_equal(seen["times"], [[3, 3], [5, 5], [2, 2]])
        self.assertTrue(seen["allowed"].all() and seen["allowed"].dtype == bool and seen["allowed"].shape == (3, 2))
        self.assertEqual((seen["order"][0], seen["units"]), (0, [1, 0, 0]))
        # The group's demand: 100 and 50 bytes come in. That of op 0: both go out.
        self.assertEqual(seen["demands"], [150, 150])

    def test_its_faults_are_told_with_their_place(self):
        def failing(answer):
            @pb.placer
            def mine(instance, seed):
                return answer(instance)

            return mine

        def boom(_):
            raise ValueError("boom")

        def hopeless(_):
            raise pb.Infeasible("too small")

        for answer, kind, status, expected in [
            (boom, pb.Error, "error", "the placer's function 'mine' raised ValueError: boom ("),
            (hopeless, pb.Infeasible, "infeasible", "the placer's function 'mine' found no feasible placement: too small"),
            (lambda _: None, pb.Error, "error", "NoneType'>: give a device for each op"),
            (lambda _: "d0 d1", pb.Error, "error", "answered with a text: give a device for each op"),
            (lambda _: [0], pb.Error, "invalid", "the placement has 1 entries, but the graph has 3 ops"),
            (lambda _: [0, 0, 7], pb.Error, "invalid", "op 2 is placed on device 7, but the cluster has only 2"),
            (lambda _: [0, 0, "dx"], pb.Error, "error", "answered for op 2 with 'dx', which is no device: give a name like 'd0'"),
            (lambda _: [0, 0, 0.5], pb.Error, "error", "answered for op 2 with 0.5, which is no device: give numbers from 0, or names"),
        ]:
            with self.assertRaises(kind) as raised:
                pb.place(fork(), two(), failing(answer))
            self.assertIn(expected, str(raised.exception))
            self.assertEqual(isinstance(raised.exception.__cause__, ValueError), answer is boom)
            suite = {"name": "faults", "placers": ["heft", failing(answer)], "graph": [fork()], "cluster": [two()]}
            frame = pb.run(suite).to_polars()
            self.assertEqual(frame["status"].to_list(), ["ok", status])
            self.assertIn(expected, frame["error"][1])
        self.assertIn(os.path.basename(__file__), str(self.error_of(failing(boom))))

    def error_of(self, placer):
        with self.assertRaises(pb.Error) as raised:
            pb.place(fork(), two(), placer)
        return raised.exception

    def test_an_endless_placer_is_ended_by_the_time_limit_and_by_ctrl_c(self):
        ended = []

        @pb.placer
        def endless(instance, seed):
            try:
                while True:
                    pass
            finally:
                ended.append(seed)

        with self.assertRaises(pb.TimedOut):
            pb.place(fork(), two(), endless, time_limit=0.3)

        def asleep(instance, seed):
            time.sleep(60)

        with self.assertRaisesRegex(pb.TimedOut, "not done within 10 times the time limit of 0.1 s by the clock"):
            pb.place(fork(), two(), asleep, time_limit=0.1)
        suite = {"name": "endless", "placers": ["heft", endless], "graph": [fork()], "cluster": [two()], "time_limit_seconds": 0.3}
        frame = pb.run(suite).to_polars()
        self.assertEqual(frame["status"].to_list(), ["ok", "timed_out"])
        timer = interrupt_after(0.5)
        with self.assertRaises(KeyboardInterrupt):
            pb.place(fork(), two(), endless)
        timer.cancel()
        self.assertEqual(len(ended), 3, "the function ran on")

    def test_a_placer_that_is_none_is_refused(self):
        for made, expected in [
            (lambda: pb.placer(lambda instance: []), "use letters, digits"),
            (lambda: pb.placer(name="one")(lambda instance: []), "takes two arguments, an instance and a seed"),
            (lambda: pb.placer(name="a b")(lambda instance, seed: []), "placer 'a b': name: use letters"),
            (lambda: pb.run({**SUITE, "placers": [first_device, first_device]}), "is listed twice"),
            (lambda: pb.run({**SUITE, "placers": [pb.placer(name="heft")(lambda i, s: [])]}), "placebench has a placer of that name"),
        ]:
            with self.assertRaises(pb.Error) as raised:
                made()
            self.assertIn(expected, str(raised.exception))

    def test_a_run_with_a_changed_function_does_not_go_on(self):
        def suite(device):
            names = {"__name__": "notebook"}
            exec(f"def mine(instance, seed):\n    return [{device}] * len(instance.graph)", names)
            placers = ["heft", pb.placer(names["mine"]), "simulated_annealing(budget=1000000000)"]
            return {**SUITE, "repetitions": 1, "networks": ["contention_free"], "placers": placers}

        with tempfile.TemporaryDirectory() as folder:
            timer = interrupt_after(1.5)
            with self.assertRaises(KeyboardInterrupt):
                pb.run(suite(0), out=folder + "/run")
            timer.cancel()
            with self.assertRaisesRegex(pb.Error, "the function of placer mine has changed since this run began"):
                pb.run(suite(1), out=folder + "/run")

    @unittest.skipUnless(COMMAND, "PLACEBENCH does not name the command")
    def test_the_command_line_says_whose_function_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            suite = {**SUITE, "placers": ["heft", first_device], "repetitions": 1}
            results = pb.run(suite, out=folder + "/run")
            subprocess.run([COMMAND, "report", folder + "/run"], capture_output=True, check=True)
            path = pathlib.Path(folder, "suite.toml")
            path.write_text(results.suite)
            ended = subprocess.run([COMMAND, "run", path, "--out", folder + "/other"], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("the placer 'first_device' is the Python function test_placebench:first_device: run the suite in Python", ended.stderr)


if __name__ == "__main__":
    unittest.main()
