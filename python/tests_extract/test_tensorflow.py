"""Placements executed in TensorFlow. With PLACEBENCH_SLOW=1 all seven models run, which takes many minutes."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from placebench_extract.execute import tensorflow_cluster, tensorflow_graph, tensorflow_timeline
from placebench_extract.execute.protocol import ExecuteError, Problem
from placebench_extract.tf import tf, v1

import problems
from tiny import TINY


def as_problem(content):
    return Problem(**content)


def cpus(count):
    return [{"name": f"cpu:{i}", "kind": "cpu", "host": ""} for i in range(count)]


class Run(unittest.TestCase):
    """What a run must keep, whatever it runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, content, nodes):
        """Runs a problem, holds its timeline to the laws, and returns its events."""
        status, events = problems.run(content, self.folder)
        result = events[-1]
        self.assertEqual(status, 0, result.get("message"))
        self.assertEqual(events[0]["event"], "ready")
        counts = ("warm_up", "warm_up"), ("measured", "repetitions"), ("traced", "traced")
        kinds = [kind for kind, count in counts for _ in range(content[count])]
        self.assertEqual([event["kind"] for event in events[1:-1]], kinds)
        measured = [event["makespan_us"] for event in events[1:-1] if event["kind"] == "measured"]
        self.assertEqual(result["makespans_us"], measured)
        self.assertIn("equal the unplaced step's", result["checked"])
        self.assertEqual(result["send_ops"], len(content["transfers"]))
        self.check_laws(content, nodes, result)
        return events

    def check_laws(self, content, nodes, result):
        ops, transfers = result["ops"], result["transfers"]
        self.assertEqual((len(ops), len(transfers)), (len(nodes), len(content["transfers"])))
        self.assertTrue(all(0 <= start <= end for start, end in [*ops, *transfers]))
        index = {node.name: op for op, node in enumerate(nodes)}
        arrival = {}
        for transfer, (start, end) in zip(content["transfers"], transfers):
            self.assertGreaterEqual(start, ops[transfer["source"]][1])
            arrival[transfer["source"], transfer["output"], transfer["to"]] = end
        place = content["placement"]
        for op, node in enumerate(nodes):
            for text in node.input:
                name, _, port = text.lstrip("^").partition(":")
                source = index[name]
                key = source, None if text.startswith("^") else int(port or 0), place[op]
                there = ops[source][1] if place[source] == place[op] else arrival[key]
                self.assertLessEqual(there, ops[op][0], (name, node.name))
        for order in content["order"]:
            order = order if content["mode"] == "replay" else sorted(order, key=lambda op: ops[op])
            for before, after in zip(order, order[1:]):
                self.assertLessEqual(ops[before][1], ops[after][0], (nodes[before].name, nodes[after].name))


class Small(Run):
    def test_a_model_on_two_workers_gives_the_same_result_in_the_given_order(self):
        nodes = problems.nodes_of("convnet", TINY["convnet"])
        events = self.check(problems.problem("convnet", TINY["convnet"], nodes, 2), nodes)
        self.assertEqual(events[-1]["not_run"], 0)
        self.assertEqual(events[0]["hardware"]["cores"], os.cpu_count())

    def test_branches_that_are_not_taken_hold_up_nothing(self):
        nodes = problems.nodes_of("dynamic_rnn", TINY["dynamic_rnn"])
        events = self.check(problems.problem("dynamic_rnn", TINY["dynamic_rnn"], nodes, 2, traced=2), nodes)
        self.assertGreater(events[-1]["not_run"], 0)

    def test_a_tensor_leaves_as_soon_as_it_is_there(self):
        made = tf.Graph()
        with made.as_default():
            x = v1.placeholder(tf.float32, [512, 512], "x")
            product = tf.matmul(x, x, name="sent")
            for number in range(20):
                x = tf.matmul(x, product, name=f"later_{number}") / 64
            tf.nn.relu(product, name="read")
        nodes = list(made.as_graph_def().node)
        (self.folder / "graph.pb").write_bytes(made.as_graph_def().SerializeToString())
        names = [node.name for node in nodes]
        away, last = names.index("read"), names.index("later_19")
        content = problems.problem(str(self.folder), {}, nodes, 2, warm_up=3)
        content["placement"] = [int(op == away) for op in range(len(nodes))]
        content["order"] = [[op for op in range(len(nodes)) if op != away], [away]]
        content["transfers"] = [{"source": names.index("sent"), "output": 0, "from": 0, "to": 1, "bytes": 512 * 512 * 4}]
        result = self.check(content, nodes)[-1]
        self.assertLess(result["transfers"][0][0], result["ops"][last][0])

    def test_workers_that_run_already_take_a_graph_from_a_file_and_a_model_in_any_order(self):
        made = tf.Graph()
        with made.as_default():
            x = v1.placeholder(tf.float32, [64, 64], "x")
            chosen = v1.placeholder(tf.int32, [3], "chosen")
            w = v1.get_variable("w", [64, 64])
            y = tf.matmul(x, w, name="y")
            with tf.control_dependencies([y]):
                z = tf.gather(tf.nn.relu(y), chosen, name="z")
            v1.assign_add(w, 0.1 * y, name="update")
            tf.reduce_sum(z, name="total")
        definition = v1.graph_util.extract_sub_graph(made.as_graph_def(), ["total", "update"])
        (self.folder / "graph.pb").write_bytes(definition.SerializeToString())
        hosts = tensorflow_cluster.layout(cpus(2), []).hosts
        words = [sys.executable, "-m", "placebench_extract", "worker", "tensorflow", "--hosts", ",".join(hosts), "--listen"]
        for host in hosts:
            worker = subprocess.Popen([*words, host, "--threads", "1"], cwd=problems.PACKAGE, stdout=subprocess.PIPE)
            self.addCleanup(worker.stdout.close)
            self.addCleanup(worker.wait)
            self.addCleanup(worker.kill)
        nodes = list(definition.node)
        devices = [{"name": f"cpu:{i}", "kind": "cpu", "host": host} for i, host in enumerate(hosts)]
        self.check(problems.problem(str(self.folder), {}, nodes, 2, hosts=hosts, devices=devices), nodes)
        nodes = problems.nodes_of("convnet", TINY["convnet"])
        self.check(problems.problem("convnet", TINY["convnet"], nodes, 2, mode="dynamic", hosts=hosts, devices=devices), nodes)

    def test_a_worker_that_dies_is_told_and_nothing_stays(self):
        nodes = problems.nodes_of("convnet", TINY["convnet"])
        driver = problems.start(problems.problem("convnet", TINY["convnet"], nodes, 2, repetitions=1_000_000), self.folder)
        self.addCleanup(driver.stderr.close)
        for line in driver.stdout:
            if json.loads(line)["event"] == "step":
                break
        victim = int(Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()[-1])
        os.kill(victim, signal.SIGKILL)
        last = json.loads(driver.communicate(timeout=60)[0].splitlines()[-1])
        self.assertEqual((last["event"], last["kind"]), ("error", "worker_died"))
        self.assertIn(f"(process {victim}) ended with signal 9", last["message"])
        self.assertEqual(driver.returncode, 1)
        self.assert_group_ends(driver)

    def test_workers_end_with_a_driver_that_is_killed(self):
        nodes = problems.nodes_of("convnet", TINY["convnet"])
        driver = problems.start(problems.problem("convnet", TINY["convnet"], nodes, 2, repetitions=1_000_000), self.folder)
        self.assertEqual(json.loads(driver.stdout.readline())["event"], "ready")
        driver.kill()
        driver.communicate()
        self.assert_group_ends(driver)

    def assert_group_ends(self, driver):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                os.killpg(driver.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
        self.fail("a process of the run is still there")


class Refusals(unittest.TestCase):
    """What cannot run ends in one line, before any worker starts."""

    def setUp(self):
        self.nodes = problems.nodes_of("recurrent", TINY["recurrent"])
        self.content = problems.problem("recurrent", TINY["recurrent"], self.nodes, 2)

    def refused(self, kind, message, action):
        with self.assertRaises(ExecuteError) as caught:
            action()
        self.assertEqual(caught.exception.kind, kind)
        self.assertIn(message, str(caught.exception))

    def load(self, **changes):
        return tensorflow_graph.load(as_problem({**self.content, **changes}))

    def test_a_graph_that_is_not_the_problems(self):
        names = self.content["graph_ops"]
        other = [*names[:3], "other", *names[4:]]
        for changes, kind, message in (
            ({"graph_ops": other}, "problem", f"op 3 is {names[3]!r}, the problem says 'other'"),
            ({"graph_ops": names[:-1]}, "problem", f"has {len(names)} ops, the problem {len(names) - 1}"),
            ({"parameters": {"layers": "2"}}, "problem", "recurrent has no parameter 'layers'"),
            ({"parameters": {"batch": "two"}}, "problem", "parameter batch = 'two' is no number"),
            ({"graph": "recurrent_whole"}, "unsupported", "execute recurrent"),
            ({"graph": "/no/such/file.pb"}, "problem", "/no/such/file.pb: No such file"),
            ({"graph": __file__}, "problem", "is no GraphDef"),
        ):
            self.refused(kind, message, lambda: self.load(**changes))

    def test_a_variable_is_not_split_from_what_changes_it(self):
        step = self.load()
        for node in step.definition.node:
            if "_class" in node.attr:
                del node.attr["_class"]
        update = next(node for node in self.nodes if node.op == "ApplyAdam")
        place = {name: int(name == update.name) for name in step.ops}
        message = f"op {update.name!r} changes the variable of {update.input[0]!r}"
        self.refused("unsupported", message, lambda: tensorflow_graph.check_splits(step, place))

    def test_classes_stay_together(self):
        step = self.load()
        node = next(node for node in self.nodes if node.op == "Identity" and "_class" in node.attr)
        place = {name: int(name == node.name) for name in step.ops}
        message = f"op {node.name!r} is colocated with"
        self.refused("unsupported", message, lambda: tensorflow_graph.check_splits(step, place))

    def test_an_order_that_waits_for_itself(self):
        step, content = self.load(), dict(self.content)
        content["order"] = [list(reversed(order)) for order in content["order"]]
        problem = as_problem(content)
        message = "waits for an op that waits for it"
        self.refused("problem", message, lambda: tensorflow_graph.one_after_another(step, problem))

    def test_sends_that_are_not_the_problems(self):
        step = self.load()
        problem = as_problem({**self.content, "transfers": self.content["transfers"][1:]})
        names = tensorflow_cluster.layout(cpus(2), []).device_names
        partitions = [v1.GraphDef() for _ in names]
        for op, name in enumerate(step.ops):
            partitions[problem.placement[op]].node.add(name=name, op="NoOp", device=names[problem.placement[op]])
        for number, transfer in enumerate(self.content["transfers"]):
            partition, source = partitions[transfer["from"]], step.ops[transfer["source"]]
            text = f"{source}:{transfer['output']}"
            if transfer["output"] is None:
                text = f"signal_{number}"
                partition.node.add(name=text, op="Const", input=[f"^{source}"])
            send = partition.node.add(name=f"send_{number}", op="_Send", input=[text])
            send.attr["tensor_name"].s = f"edge_{number}".encode()
            send.attr["recv_device"].s = names[transfer["to"]].encode()

        def edges(problem):
            return tensorflow_timeline.check_partitions(partitions, step, problem, names)

        whole = as_problem(self.content)
        self.assertEqual(edges(whole), {f"edge_{number}": number for number in range(len(whole.transfers))})
        self.refused("unsupported", "only TensorFlow sends", lambda: edges(problem))
        del partitions[0].node[-1]
        self.refused("unsupported", "only the problem sends", lambda: edges(whole))
        partitions[0].node[0].device = "elsewhere"
        self.refused("unsupported", "on elsewhere, not on", lambda: edges(whole))


class Layouts(unittest.TestCase):
    def names(self, kinds, hosts=(), at=()):
        devices = [{"name": f"d{i}", "kind": kind, "host": at[i] if at else ""} for i, kind in enumerate(kinds)]
        layout = tensorflow_cluster.layout(devices, list(hosts))
        start = "/job:worker/replica:0/task:"
        return [name.removeprefix(start).replace("/device", "") for name in layout.device_names], layout.gpus

    def test_each_cpu_is_a_worker_and_gpus_belong_to_the_first(self):
        self.assertEqual(self.names(["cpu", "cpu"]), (["0:CPU:0", "1:CPU:0"], [0, 0]))
        self.assertEqual(self.names(["gpu", "cpu", "gpu", "cpu"]), (["0:GPU:0", "0:CPU:0", "0:GPU:1", "1:CPU:0"], [2, 0]))

    def test_with_hosts_a_device_is_where_it_says(self):
        hosts = ["a:1", "b:1"]
        names, _ = self.names(["cpu", "gpu", "gpu"], hosts, ["b:1", "a:1", "a:1"])
        self.assertEqual(names, ["1:CPU:0", "0:GPU:0", "0:GPU:1"])
        self.assertEqual(self.names(["cpu", "gpu"], ["a:1", "a:1"], ["a:1", "a:1"])[0], ["0:CPU:0", "0:GPU:0"])
        for at in (["c:1"], ["a:1", "a:1"]):
            with self.assertRaises(ExecuteError):
                self.names(["cpu"] * len(at), hosts, at)
        with self.assertRaises(ExecuteError):
            self.names(["tpu"])

    def test_ports_are_free_and_differ(self):
        hosts = tensorflow_cluster.layout(cpus(4), []).hosts
        self.assertEqual(len(set(hosts)), 4)
        for host in hosts:
            with socket.socket() as listener:
                listener.bind((host.split(":")[0], int(host.split(":")[1])))


class Calibration(unittest.TestCase):
    def test_kernels_and_connections_are_measured(self):
        program = """
from placebench_extract.execute import tensorflow_calibrate as c
c.SIZES, c.SIDES, c.LENGTHS = [1 << 12, 1 << 22], [32, 512], [1 << 12, 1 << 20]
c.FLOW_BYTES, c.STEPS = 1 << 20, 5
c.main("tensorflow", [])
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([event["event"] for event in events], ["ready", "calibration"], done.stderr[-2000:])
        found = events[-1]
        self.assertEqual([device["name"] for device in found["devices"]], ["cpu:0", "cpu:1"])
        for device in found["devices"]:
            self.assertTrue(0 <= device["op_overhead_seconds"] < 1e-2)
            self.assertGreater(device["memory_bytes"], 1 << 20)
        self.assertEqual([equation["type"] for equation in found["equations"]], ["MatMul"] * 2 + ["Add"] * 2)
        products = found["equations"][:2]
        for device in ("cpu:0", "cpu:1"):
            small, large = (equation["step_seconds"][device] for equation in products)
            self.assertTrue(0 <= small < large, (small, large))  # 4096 times the operations
        times = {(t["from"], t["to"], t["bytes"]): t for t in found["transfers"]}
        self.assertEqual(sorted(times), [(a, 1 - a, size) for a in (0, 1) for size in (1 << 12, 1 << 22)])
        for ends in ((0, 1), (1, 0)):
            small, large = times[(*ends, 1 << 12)], times[(*ends, 1 << 22)]
            self.assertGreater(large["one_way_seconds"][0], small["one_way_seconds"][0])
            self.assertGreater(large["sender_seconds"] + large["receiver_seconds"], 0)
        self.assertEqual([flow["pairs"] for flow in found["flows"]], [[[0, 1]], [[0, 1], [1, 0]]])
        self.assertTrue(all(flow["seconds"] >= 0 for flow in found["flows"]))


@unittest.skipUnless(os.environ.get("PLACEBENCH_SLOW") == "1", "takes many minutes: set PLACEBENCH_SLOW=1")
class SevenModels(Run):
    """Every embedded model. Where the parameters are smaller than the embedded ones, memory is why."""

    MODELS = {
        "convnet": {},
        "recurrent": {},
        "dynamic_rnn": {},
        "lstm_lm": {"steps": 10},
        "nmt": {"batch": 4, "steps": 8, "units": 256, "vocabulary": 4000},
        "resnet50": {"batch": 2},
        "transformer": {"batch": 1, "depth": 4},
    }

    def test_every_model_runs_on_two_and_four_workers(self):
        for name, parameters in self.MODELS.items():
            nodes = problems.nodes_of(name, parameters)
            for workers in (2, 4):
                with self.subTest(name, workers=workers):
                    content = problems.problem(name, parameters, nodes, workers, blocks=True)
                    events = self.check(content, nodes)
                    result = events[-1]
                    makespans = sorted(result["makespans_us"])
                    said = f"{name} {parameters} {workers} workers: {len(nodes)} ops, {result['send_ops']} sends, "
                    said += f"{result['bytes'] / 1e6:.1f} MB, {makespans[0] / 1e3:.1f} to {makespans[-1] / 1e3:.1f} ms, "
                    print(said + result["checked"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    unittest.main()
