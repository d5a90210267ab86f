import itertools
import json
import os
import random
import signal
import socket
import tempfile
import time
import unittest
from pathlib import Path

try:
    import jax  # noqa: F401
except ImportError:
    raise unittest.SkipTest("needs JAX") from None

from placebench_extract.execute import driver
from placebench_extract.execute.plan import make_plan
from placebench_extract.execute.protocol import ExecuteError
from placebench_extract.execute.wire import Channel, Closed, Door, Refused, dial
from placebench_extract.jaxgraph.flatten import Flat, Op, Output, Ref

import step_problem
from jax_problem import OWN_MODELS, flat_graph, problem
from step_problem import children, runs, stop

CACHE = tempfile.TemporaryDirectory()  # compiled operations, shared by the runs of this file
LIMIT = 400  # seconds for a run: one that takes longer hangs


def tearDownModule():
    CACHE.cleanup()


def start(*arguments, **variables):
    return step_problem.start(*arguments, **{"PLACEBENCH_JAX_MODELS": OWN_MODELS, "XDG_CACHE_HOME": CACHE.name, **variables})


class Runs(unittest.TestCase):
    def write(self, content):
        file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            json.dump(content, file)
        return file.name

    def run_problem(self, *contents):
        files = [word for content in contents for word in ("--problem", self.write(content))]
        process = start("execute", "jax", *files)
        try:
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        events = [json.loads(line) for line in out.splitlines()]
        return process.returncode, events, err

    def check_timeline(self, content, result):
        step_problem.check_timeline(self, content, flat_graph(content["graph"])[1], result)

    def test_a_random_placement_gives_the_unplaced_results_in_both_modes(self):
        for mode, transport in itertools.product(("replay", "dynamic"), ("memory", "tcp")):
            content = problem("mlp", random.Random(mode).choices([0, 1], k=1000).__getitem__, mode=mode)
            status, events, err = self.run_problem({**content, "transport": transport})
            with self.subTest(f"{mode}, {transport}"):
                self.assertEqual(status, 0, [events[-1:], err])
                self.assertEqual(events[0]["hardware"]["transport"], transport)
                kinds = [event.get("kind") for event in events if event["event"] == "step"]
                self.assertEqual(kinds, ["warm_up", "measured", "measured", "traced"])
                result = events[-1]
                self.assertEqual(result["checked"], "results equal the unplaced step's (max abs difference 0)")
                self.assertEqual(len(result["makespans_us"]), 2)
                self.check_timeline(content, result)
                if mode == "replay":
                    for order in content["order"]:
                        begins = [result["ops"][op][0] for op in order]
                        self.assertEqual(begins, sorted(begins))

    def test_placements_of_one_graph_take_turns(self):
        problems = [problem("mlp", lambda k: k % 2), problem("mlp", lambda k: 1, repetitions=3)]
        status, events, err = self.run_problem(*problems)
        self.assertEqual(status, 0, [events[-1:], err])
        turns = [event["problem"] for event in events if event.get("kind") == "measured"]
        self.assertEqual(turns, [0, 1, 0, 1, 1])
        for number, (content, result) in enumerate(zip(problems, events[-2:])):
            self.assertEqual((result["event"], result["problem"]), ("result", number))
            self.assertIn("results equal", result["checked"])
            self.check_timeline(content, result)
        other = {**problems[1], "parameters": {**problems[1]["parameters"], "width": "16"}}
        status, events, _ = self.run_problem(problems[0], other)
        self.assertEqual((status, events[-1]["kind"]), (1, "problem"))
        self.assertIn("the problems differ in parameters", events[-1]["message"])

    def test_a_wrong_result_is_noticed(self):
        import numpy as np

        class Answers:
            def __init__(self, array):
                self.array = array

            def ask(self, *_):
                return {"dtype": "float32", "shape": [3]}, self.array.tobytes()

        class Devices:
            devices = [{"kind": "cpu"}]
            described = [{"results": [[0, 0]], "result_names": ["loss"]}]

        true = np.array([1.0, 2.0, 3.0], np.float32)
        Devices.workers = [Answers(true)]
        self.assertIn("difference 0)", driver.check(Devices, [0], Answers(true)))
        for wrong in (true * np.float32(1.00001), np.array([1, 2, np.nan], np.float32)):
            with self.assertRaisesRegex(ExecuteError, "result loss"):
                driver.check(Devices, [0], Answers(wrong))

    def test_a_killed_worker_ends_the_run_and_no_process_is_left(self):
        process = start("execute", "jax", "--problem", self.write(problem("mlp", lambda k: k % 2, repetitions=100000)))
        try:
            lines = iter(process.stdout.readline, "")
            self.assertTrue(any('"step"' in line for line in lines), "the run did not get to a step")
            workers = children(process.pid)
            os.kill(workers[0], signal.SIGKILL)
            last = json.loads(list(lines)[-1])
            self.assertEqual((last["event"], last["kind"]), ("error", "worker_died"), last)
            self.assertEqual(process.wait(30), 1)
        finally:
            stop(process)
        self.assertFalse(any(map(runs, workers)))

    def test_a_killed_driver_leaves_no_process(self):
        process = start("execute", "jax", "--problem", self.write(problem("mlp", lambda k: k % 2, repetitions=100000)))
        try:
            self.assertTrue(any('"step"' in line for line in iter(process.stdout.readline, "")))
            workers = children(process.pid)
            self.assertTrue(workers)
        finally:
            stop(process)
        end = time.monotonic() + 30
        while any(map(runs, workers)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse(any(map(runs, workers)))

    def test_workers_that_were_started_elsewhere_serve_one_run_after_another(self):
        content = problem("mlp", lambda k: k % 2)
        token = {"PLACEBENCH_TOKEN": content["token"]}
        workers = [start("worker", "jax", "--listen", "127.0.0.1:0", "--serve", **token) for _ in range(2)]
        try:
            # The port is free to choose once: to begin anew, a worker listens where it was told.
            ports = [int(worker.stdout.readline()) for worker in workers]
            for worker in workers:
                stop(worker)
            workers = [start("worker", "jax", "--listen", f"127.0.0.1:{port}", "--serve", **token) for port in ports]
            for worker in workers:
                worker.stdout.readline()
            content["hosts"] = [f"127.0.0.1:{port}" for port in ports]
            for _ in range(2):
                status, events, err = self.run_problem(content)
                self.assertEqual(status, 0, [events[-1:], err])
                for worker in workers:
                    worker.stdout.readline()  # it listens again
            status, events, _ = self.run_problem({**content, "token": "another"})
            self.assertEqual((status, events[-1]["kind"]), (1, "worker_died"))
            self.assertIn("it has another token", events[-1]["message"])
        finally:
            for worker in workers:
                stop(worker)

    def test_a_gpu_that_is_not_there_is_an_error_that_says_so(self):
        if Path("/dev/nvidia0").exists():
            self.skipTest("there is a GPU")
        content = problem("mlp", lambda k: 0, devices=1)
        content["devices"][0]["kind"] = "gpu"
        status, events, _ = self.run_problem(content)
        self.assertEqual((status, events[-1]["kind"]), (1, "unsupported"), events[-1])
        self.assertIn("device cpu:0: JAX finds no GPU here", events[-1]["message"])

    def test_another_graph_is_refused(self):
        renamed = problem("mlp", lambda k: 0, devices=1)
        renamed["graph_ops"][3] = "other"
        foreign = {**renamed, "graph": "nmt"}
        for content, kind, text in ((renamed, "problem", "op 3 is 'other' in the placed graph"), (foreign, "unsupported", "nmt is no graph of a JAX model")):
            status, events, _ = self.run_problem(content)
            self.assertEqual((status, events[-1]["event"], events[-1]["kind"]), (1, "error", kind), events[-1])
            self.assertIn(text, events[-1]["message"])

    def test_the_calibration_measures_equations_and_connections(self):
        process = start("calibrate", "jax", "--devices", "2", "--repeats", "0", "--graph", "mlp")
        try:
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        events = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([event["event"] for event in events], ["ready", "calibration"], err)
        found = events[-1]
        self.assertEqual([device["name"] for device in found["devices"]], ["cpu:0", "cpu:1"])
        graph = found["graphs"][0]
        count = len(found["equations"])
        self.assertEqual({k for k in graph["ops"] if k is not None}, set(range(count)))
        for equation in found["equations"]:
            for device in ("cpu:0", "cpu:1"):
                least, median = equation["alone_seconds"][device]
                self.assertTrue(0 < least <= median)
                self.assertGreater(equation["step_seconds"][device], 0)
        self.assertEqual({(t["from"], t["to"]) for t in found["transfers"]}, {(0, 1), (1, 0)})
        for transfer in found["transfers"]:
            # What a process without anything to send takes is subtracted: of a small tensor nothing may be left.
            self.assertGreaterEqual(min(transfer["sender_seconds"], transfer["receiver_seconds"]), 0)
            self.assertGreater(transfer["one_way_seconds"][0], 0)
        largest = max(found["transfers"], key=lambda transfer: transfer["bytes"])
        self.assertGreater(largest["sender_seconds"] + largest["receiver_seconds"], 0)
        self.assertEqual([flow["pairs"] for flow in found["flows"]], [[[0, 1]], [[0, 1], [1, 0]]])
        self.assertEqual({(step["device"], step["peer"]) for step in found["steps"]}, {(0, 1), (1, 0)})
        self.assertGreater(sum(step["sends"] for step in found["steps"]), 100)
        for step in found["steps"]:
            self.assertGreater(step["busy_seconds"], 0)
            self.assertGreaterEqual(step["op_seconds"], 0)


class Plans(unittest.TestCase):
    def setUp(self):
        output = Output((2,), __import__("numpy").dtype("float32"))
        # 0 feeds 1 and 2, which feed 3; 1 reads 0 twice.
        inputs = [[], [Ref(0, 0), Ref(0, 0)], [Ref(0, 0)], [Ref(1, 0), Ref(2, 0)]]
        self.flat = Flat([Op("x", refs, [output], name=f"op{k}") for k, refs in enumerate(inputs)], [Ref(3, 0)], ["r"])
        self.transfers = [
            {"source": 0, "output": 0, "from": 0, "to": 1, "bytes": 8},
            {"source": 1, "output": 0, "from": 1, "to": 0, "bytes": 8},
            {"source": 2, "output": 0, "from": 1, "to": 0, "bytes": 8},
        ]
        self.placement, self.order = [0, 1, 1, 0], [[0, 3], [1, 2]]

    def plan(self, device=0, **changed):
        given = {"placement": self.placement, "order": self.order, "transfers": self.transfers, **changed}
        return make_plan(self.flat, given["placement"], given["order"], given["transfers"], "replay", device)

    def test_a_tensor_goes_once_to_a_device_and_is_freed_after_its_last_reader(self):
        first, second = self.plan(0), self.plan(1)
        self.assertEqual([task.sends for task in first.tasks], [[(0, 0, 1)], []])
        self.assertEqual({k: slot for k, (slot, _, _) in first.arrivals.items()}, {1: 1, 2: 2})
        self.assertEqual([task.waits for task in second.tasks], [[(0, 0)], [(0, 0)]])
        self.assertEqual([sorted(task.frees) for task in first.tasks], [[0], [1, 2]])  # 3 is a result
        self.assertEqual([sorted(task.frees) for task in second.tasks], [[1], [0, 2]])

    def test_a_device_knows_in_which_order_the_others_send(self):
        self.assertEqual([self.plan(device).sequence for device in (0, 1)], [{1: [1, 2]}, {0: [0]}])
        order = [[0, 3], [2, 1]]
        self.assertEqual(self.plan(order=order).sequence, {1: [2, 1]})
        sent = [transfer for task in self.plan(1, order=order).tasks for _, transfer, _ in task.sends]
        self.assertEqual(sent, [2, 1])

    def test_transfers_have_to_be_the_graphs(self):
        extra = {"source": 3, "output": 0, "from": 0, "to": 1, "bytes": 8}
        control = {**self.transfers[0], "output": None}
        for transfers, message in (
            (self.transfers[:2], "no transfer sends output 0 of 'op2' to device 0, which is read there"),
            ([*self.transfers, extra], "transfer 3 sends output 0 of 'op3' to device 1 though nobody there reads it"),
            ([*self.transfers, self.transfers[0]], "a second time"),
            ([{**self.transfers[0], "bytes": 9}, *self.transfers[1:]], "which has 8 bytes, not 9"),
            ([control, *self.transfers], "though nobody there reads it"),
        ):
            with self.assertRaisesRegex(ExecuteError, message):
                self.plan(transfers=transfers)

    def test_an_order_that_waits_for_itself_is_refused(self):
        with self.assertRaisesRegex(ExecuteError, "the order of device 0 can never run 'op3'"):
            self.plan(order=[[3, 0], [1, 2]])


class Greetings(unittest.TestCase):
    def setUp(self):
        self.door = Door("right", "127.0.0.1", 0)
        self.addCleanup(self.door.listener.close)
        self.address = f"127.0.0.1:{self.door.port}"

    def test_only_who_knows_the_token_comes_in(self):
        silent = socket.create_connection(("127.0.0.1", self.door.port))
        self.addCleanup(silent.close)
        with self.assertRaises(Refused):
            dial("wrong", self.address, "driver", 5)
        with socket.create_connection(("127.0.0.1", self.door.port)) as stranger:
            stranger.sendall(b"\0" * 80)
            stranger.settimeout(10)
            self.assertEqual(len(stranger.recv(100)), 32)  # the challenge, and no more
            self.assertEqual(stranger.recv(100), b"")
        with self.assertRaises(Closed):
            self.door.accept("driver", 0.1)
        mine = Channel(dial("right", self.address, "driver", 5))
        theirs = Channel(self.door.accept("driver", 5))
        self.addCleanup(mine.close)
        self.addCleanup(theirs.close)
        mine.send({"a": 1}, b"bytes")
        self.assertEqual(theirs.receive(5), ({"a": 1}, bytearray(b"bytes")))

    def test_a_listener_without_the_token_is_refused(self):
        impostor = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(impostor.close)

        def answer():
            connection, _ = impostor.accept()
            with connection:
                connection.sendall(bytes(32))
                connection.recv(200)
                connection.sendall(bytes(32))

        import threading

        threading.Thread(target=answer, daemon=True).start()
        with self.assertRaisesRegex(Refused, "does not know the token"):
            dial("right", f"127.0.0.1:{impostor.getsockname()[1]}", "driver", 5)

    def test_a_message_that_is_too_long_ends_the_connection(self):
        mine = Channel(dial("right", self.address, "driver", 5))
        theirs = Channel(self.door.accept("driver", 5))
        self.addCleanup(mine.close)
        self.addCleanup(theirs.close)
        mine.send({}, b"123456")
        with self.assertRaises(Closed):
            theirs.receive(5)


if __name__ == "__main__":
    unittest.main()
