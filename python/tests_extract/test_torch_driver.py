import itertools
import json
import os
import random
import signal
import socket
import tempfile
import unittest
from pathlib import Path

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("needs PyTorch") from None

from placebench_extract.execute.wire import Refused, dial
from step_problem import check_timeline, children, runs, start, stop
from torch_problem import MLP, flat_graph, problem

LIMIT = 400  # seconds for a run: one that takes longer hangs
SMALL = {
    "seq2seq": dict(batch=1, source=4, target=5, layers=1, width=8, heads=2, vocabulary=11),
    "graph_network": dict(nodes=10, edges=30, features=6, layers=1, width=8, heads=2, classes=3),
    "detector": dict(batch=2, side=64, width=8, pyramid=8, classes=3),
}
EQUAL = "results equal the unplaced step's (max abs difference 0)"


def at_random(seed, devices=2):
    return random.Random(seed).choices(range(devices), k=10000).__getitem__


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def files(self, *contents):
        words = []
        for number, content in enumerate(contents):
            file = self.folder / f"problem_{number}.json"
            file.write_text(json.dumps(content))
            words += ["--problem", str(file)]
        return words

    def run_problem(self, *contents):
        process = start("execute", "torch", *self.files(*contents))
        try:
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        return process.returncode, [json.loads(line) for line in out.splitlines()], err

    def test_a_random_placement_gives_the_unplaced_results_in_both_modes(self):
        for mode, transport in itertools.product(("replay", "dynamic"), ("memory", "tcp")):
            content = {**problem(MLP, at_random(mode), self.folder, mode=mode), "transport": transport}
            status, events, err = self.run_problem(content)
            with self.subTest(f"{mode}, {transport}"):
                self.assertEqual(status, 0, [events[-1:], err])
                self.assertEqual(events[0]["hardware"]["transport"], transport)
                kinds = [event.get("kind") for event in events if event["event"] == "step"]
                self.assertEqual(kinds, ["warm_up", "measured", "measured", "traced"])
                self.assertEqual(events[-1]["checked"], EQUAL)
                check_timeline(self, content, flat_graph(MLP)[1], events[-1])

    def test_models_of_the_catalogue_on_three_devices(self):
        for name, sizes in SMALL.items():
            content = problem(name, at_random(name, 3), devices=3, repetitions=1, **sizes)
            status, events, err = self.run_problem(content)
            with self.subTest(name):
                self.assertEqual(status, 0, [events[-1:], err])
                self.assertEqual(events[-1]["checked"], EQUAL)

    def test_placements_of_one_graph_take_turns(self):
        problems = [problem(MLP, at_random(1), self.folder), problem(MLP, lambda k: 1, self.folder, repetitions=3)]
        status, events, err = self.run_problem(*problems)
        self.assertEqual(status, 0, [events[-1:], err])
        self.assertEqual([event["problem"] for event in events if event.get("kind") == "measured"], [0, 1, 0, 1, 1])
        for content, result in zip(problems, events[-2:]):
            self.assertEqual(result["checked"], EQUAL)
            check_timeline(self, content, flat_graph(MLP)[1], result)

    def test_a_killed_worker_ends_the_run_and_no_process_is_left(self):
        content = problem(MLP, lambda k: k % 2, self.folder, repetitions=100000)
        process = start("execute", "torch", *self.files(content))
        try:
            lines = iter(process.stdout.readline, "")
            self.assertTrue(any('"measured"' in line for line in lines), "the run did not get to a step")
            workers = children(process.pid)
            os.kill(workers[0], signal.SIGKILL)
            last = json.loads(list(lines)[-1])
            self.assertEqual((last["event"], last["kind"]), ("error", "worker_died"), last)
            self.assertEqual(process.wait(30), 1)
        finally:
            stop(process)
        self.assertFalse(any(map(runs, workers)))

    def test_workers_that_were_started_elsewhere(self):
        content = problem(MLP, at_random(2), self.folder)
        token = {"PLACEBENCH_TOKEN": content["token"]}
        # What torchrun says to its processes. With --listen, only LOCAL_RANK counts, which chooses a GPU.
        torchrun = {"WORLD_SIZE": "7", "MASTER_ADDR": "192.0.2.1", "MASTER_PORT": "1", "TORCHELASTIC_USE_AGENT_STORE": "True"}
        workers = [
            start("worker", "torch", "--listen", "localhost:0", **token, **torchrun, RANK=str(5 - k), LOCAL_RANK=str(1 - k))
            for k in range(2)
        ]
        try:
            # "localhost" is no address of a run on one host: the processes meet as those of several hosts do.
            content["hosts"] = [f"localhost:{int(worker.stdout.readline())}" for worker in workers]
            status, events, err = self.run_problem(content)
            self.assertEqual(status, 0, [events[-1:], err])
            self.assertEqual(events[-1]["checked"], EQUAL)
        finally:
            for worker in workers:
                stop(worker)

    def run_on_announced(self, first, content):
        """Runs a problem twice on workers that find each other, the `first` of which says where they are."""
        option, hosts = first.stdout.readline().split()
        content["hosts"] = hosts.split(",")
        self.assertEqual((option, len(set(content["hosts"]))), ("--hosts", 2))
        # They begin anew at the same addresses.
        for _ in range(2):
            status, events, err = self.run_problem(content)
            self.assertEqual(status, 0, [events[-1:], err])
            self.assertEqual(events[-1]["checked"], EQUAL)

    def test_workers_find_each_other_by_the_variables_of_torchrun(self):
        content = problem(MLP, at_random(2), self.folder, repetitions=1)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        torchrun = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        worker = lambda rank: start("worker", "torch", "--serve", PLACEBENCH_TOKEN=content["token"], RANK=str(rank), **torchrun)  # noqa: E731
        workers = [worker(0), worker(1)]
        try:
            self.run_on_announced(workers[0], content)
        finally:
            for worker in workers:
                stop(worker)

    def test_workers_that_torchrun_starts_again_do_not_take_the_addresses_of_before(self):
        import torch.distributed as distributed

        content = problem(MLP, at_random(2), self.folder, repetitions=1)
        store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # torchrun's, which outlives its workers
        torchrun = {
            "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True", "PLACEBENCH_TOKEN": content["token"],
        }  # fmt: skip
        said = []
        for attempt in range(2):
            # The last one is late, so that the first could read what was there before.
            workers = [start("worker", "torch", "--serve", RANK="0", TORCHELASTIC_RESTART_COUNT=str(attempt), **torchrun)]
            workers[0].stderr.readline()
            workers.append(start("worker", "torch", "--serve", RANK="1", TORCHELASTIC_RESTART_COUNT=str(attempt), **torchrun))
            try:
                said += workers[0].stdout.readline().split()[1].split(",")
                if attempt:
                    content["hosts"] = said[2:]
                    status, events, err = self.run_problem(content)
                    self.assertEqual(status, 0, [events[-1:], err])
            finally:
                for worker in workers:
                    stop(worker)
        self.assertEqual(len(set(said)), 4)

    def test_workers_that_torchrun_started(self):
        import torch

        if torch.__version__ < "2":
            self.skipTest("torchrun of PyTorch 1.13 does not run with Python 3.11")
        content = problem(MLP, at_random(2), self.folder, repetitions=1)
        by = ("torch.distributed.run", "--nproc_per_node", "2", "--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0", "--module")
        torchrun = start("worker", "torch", "--serve", by=by, PLACEBENCH_TOKEN=content["token"])
        try:
            self.run_on_announced(torchrun, content)
            devices = children(torchrun.pid)
            self.assertEqual(len(devices), 2)
            torchrun.terminate()
            torchrun.wait(60)
            self.assertFalse(any(map(runs, devices)))
        finally:
            stop(torchrun)

    def test_a_worker_without_an_address_says_what_is_missing(self):
        for variables, text in (
            ({}, "where to listen? Name --listen ADDRESS:PORT, or start the workers with torchrun"),
            ({"MASTER_ADDR": "nowhere.invalid", "LOCAL_WORLD_SIZE": "1"}, "cannot reach torchrun's MASTER_ADDR"),
            ({"MASTER_ADDR": "127.0.0.1", "LOCAL_WORLD_SIZE": "1"}, "is a loopback address on this host"),
        ):
            torchrun = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "29500"} if variables else {}
            worker = start("worker", "torch", PLACEBENCH_TOKEN="secret" * 8, **torchrun, **variables)
            _, err = worker.communicate(timeout=LIMIT)
            self.assertEqual(worker.returncode, 2, err)
            self.assertIn(text, err)

    def test_another_graph_is_refused(self):
        content = problem(MLP, lambda k: 0, self.folder, devices=1)
        renamed = {**content, "graph_ops": ["other", *content["graph_ops"][1:]]}
        foreign = {**content, "graph": "nmt"}
        for content, kind, text in (
            (renamed, "problem", "op 0 is 'other' in the placed graph"),
            (foreign, "unsupported", "nmt is no graph of a PyTorch model"),
        ):
            status, events, _ = self.run_problem(content)
            self.assertEqual((status, events[-1]["event"], events[-1]["kind"]), (1, "error", kind), events[-1])
            self.assertIn(text, events[-1]["message"])

    def test_a_graph_that_a_calibration_wrote_says_its_model_in_another_file(self):
        content = problem(MLP, at_random(3), self.folder, repetitions=1)
        model = (self.folder / "provenance.toml").read_text()
        (self.folder / "provenance.toml").unlink()
        (self.folder / "graph.toml").write_text(f"version = 1\n\n[provenance]\n{model}")
        status, events, err = self.run_problem(content)
        self.assertEqual(status, 0, [events[-1:], err])

    def test_hosts_that_cannot_be(self):
        content = problem(MLP, lambda k: k % 2, self.folder)
        for hosts, message in (
            (["127.0.0.1:7301", "127.0.0.1:7301"], "host 127.0.0.1:7301 is named twice"),
            (["127.0.0.1:7301", "localhost"], "host 'localhost' has no port: write ADDRESS:PORT"),
        ):
            status, events, _ = self.run_problem({**content, "hosts": hosts})
            self.assertEqual((status, events[-1]["kind"]), (1, "problem"), events[-1])
            self.assertIn(message, events[-1]["message"])

    def test_a_worker_that_is_not_there_is_an_error_that_says_what_to_do(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = "127.0.0.1:%d" % free.getsockname()[1]
        with self.assertRaisesRegex(Refused, f"nobody listens at {address}: start a worker there"):
            dial("secret", address, "driver", 5, 0.3)

    def test_nothing_is_left_of_a_run_that_is_stopped(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        content = problem(MLP, lambda k: k % 2, self.folder, repetitions=100000)
        process = start("execute", "torch", *self.files(content), TMPDIR=str(temporary))
        try:
            self.assertTrue(any('"ready"' in line for line in iter(process.stdout.readline, "")))
            self.assertEqual(len(list(temporary.iterdir())), 1)
            process.terminate()
            process.wait(30)
        finally:
            stop(process)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_a_gpu_that_is_not_there_is_an_error_that_says_so(self):
        if Path("/dev/nvidia0").exists():
            self.skipTest("there is a GPU")
        content = problem(MLP, lambda k: 0, self.folder, devices=1)
        content["devices"][0]["kind"] = "gpu"
        status, events, _ = self.run_problem(content)
        self.assertEqual((status, events[-1]["kind"]), (1, "unsupported"), events[-1])
        self.assertIn("finds no GPU here", events[-1]["message"])

    def test_the_calibration_measures_calls_and_connections(self):
        problem(MLP, lambda k: 0, self.folder)  # for the provenance
        process = start("calibrate", "torch", "--devices", "2", "--repeats", "0", "--graph", str(self.folder))
        try:
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
        events = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([event["event"] for event in events], ["ready", "calibration"], err)
        found = events[-1]
        graph = found["graphs"][0]
        self.assertEqual({k for k in graph["ops"] if k is not None}, set(range(len(found["equations"]))))
        self.assertEqual({(t["from"], t["to"]) for t in found["transfers"]}, {(0, 1), (1, 0)})
        for equation in found["equations"]:
            self.assertGreater(equation["step_seconds"]["cpu:0"], 0)
        for transfer in found["transfers"]:
            self.assertGreater(transfer["one_way_seconds"][0], 0)
        self.assertEqual([flow["pairs"] for flow in found["flows"]], [[[0, 1]], [[0, 1], [1, 0]]])
        self.assertEqual({(step["device"], step["peer"]) for step in found["steps"]}, {(0, 1), (1, 0)})
        self.assertGreater(sum(step["sends"] for step in found["steps"]), 100)
        for step in found["steps"]:
            self.assertGreater(step["busy_seconds"], 0)
            self.assertGreaterEqual(step["op_seconds"], 0)


if __name__ == "__main__":
    unittest.main()
