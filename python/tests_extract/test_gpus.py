"""Which GPU is whose. No GPU is needed."""

import os
import subprocess
import sys
import unittest
from unittest import mock

from placebench_extract import gpus
from placebench_extract.execute import driver
from placebench_extract.execute.clock import boot_id


class Names(unittest.TestCase):
    def test_what_slurm_or_a_user_names_is_kept(self):
        for named, expected in (
            ("2,5", ["2", "5"]),
            (" 1 , 0", ["1", "0"]),
            ("GPU-8932f937,GPU-1", ["GPU-8932f937", "GPU-1"]),
            ("MIG-GPU-8932f937/1/2,MIG-1a2b", ["MIG-GPU-8932f937/1/2", "MIG-1a2b"]),
            ("0,-1,1", ["0"]),
            ("NoDevFiles", []),
            ("", []),
        ):
            self.assertEqual(gpus.visible(named, count=lambda: 8), expected)

    def test_without_a_list_there_are_those_of_the_machine(self):
        with mock.patch.dict(os.environ):
            os.environ.pop(gpus.VARIABLE, None)
            self.assertEqual(gpus.visible(count=lambda: 2), ["0", "1"])
            self.assertIsNone(gpus.visible(count=lambda: None))
            os.environ[gpus.VARIABLE] = "3"
            self.assertEqual(gpus.visible(count=lambda: 2), ["3"])

    def test_devices_beyond_the_gpus_share_them_in_turn(self):
        names = ["4", "MIG-a"]
        self.assertEqual([gpus.name_of(number, names) for number in range(5)], ["4", "MIG-a", "4", "MIG-a", "4"])
        self.assertEqual([gpus.name_of(number, None) for number in range(2)], ["0", "1"])
        self.assertEqual(gpus.name_of(1, []), "", "nothing is visible, rather than a GPU of somebody else")

    def test_gpus_are_shared_if_there_are_fewer_than_devices(self):
        self.assertEqual([gpus.sharing(count, ["0", "1"]) for count in (1, 2, 3)], [[1], [1, 1], [2, 1, 2]])
        self.assertEqual(gpus.sharing(2, ["0", "0"]), [2, 2])
        self.assertEqual(gpus.sharing(3, None), [1, 1, 1])

    def test_a_process_of_torchrun_or_slurm_has_the_gpu_of_its_number(self):
        for environment, expected in (({}, None), ({"LOCAL_RANK": "1"}, 1), ({"SLURM_LOCALID": "3"}, 3), ({"LOCAL_RANK": "x"}, None)):
            with mock.patch.dict(os.environ, environment):
                for name in {"LOCAL_RANK", "SLURM_LOCALID"} - environment.keys():
                    os.environ.pop(name, None)
                self.assertEqual(gpus.local_number(), expected)

    def test_a_framework_sees_the_gpu_of_its_device_alone(self):
        for name in ("jaxgraph", "torchgraph"):
            for named, expected in (("6,GPU-1", "GPU-1"), ("6", "6"), ("", "")):
                code = f"import os; from placebench_extract.{name} import runtime; runtime.prepare('gpu', gpu=1); print(os.environ['{gpus.VARIABLE}'])"
                environment = {**os.environ, gpus.VARIABLE: named, "PYTHONPATH": os.pathsep.join(sys.path)}
                found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
                self.assertEqual(found.stdout.strip(), expected)


class Devices(unittest.TestCase):
    def started(self, kinds, named, hosts=()):
        """The arguments of the workers that a run starts, and what it says of the hardware."""
        devices = [{"name": f"{kind}:{number}", "kind": kind, "host": ""} for number, kind in enumerate(kinds)]
        started = []

        class Worker:
            def __init__(self, name, token, options=(), address=None):
                started.append(options)
                gpu = {"name": "card"} if name.startswith("gpu") else None
                self.address = address
                self.described = {"model": "cpu", "software": "torch", "cores": [0], "gpu": gpu, "memory": 100}

            connect = close = lambda self: None
            tell = lambda self, command: None
            answer = lambda self, timeout=None: (self.described, b"")
            ask = lambda self, command: ({"boot": boot_id(), "clock": 0}, b"")

        with mock.patch.object(driver, "Worker", Worker), mock.patch.dict(os.environ, {gpus.VARIABLE: named}):
            with driver.Run("torch", devices, "memory", list(hosts), "token") as run:
                run.setup("graph", [], {}, [])
                return started, run.hardware(), [described["memory"] for described in run.described]

    def test_several_devices_run_on_one_gpu_and_the_row_says_so(self):
        started, hardware, memory = self.started(["gpu", "cpu", "gpu"], "7")
        self.assertEqual([options[-1] for options in started if "--gpu" in options], ["0", "1"])
        self.assertTrue(hardware["gpus_shared"])
        self.assertEqual(memory, [50, 100, 50])

    def test_devices_with_a_gpu_each_share_none(self):
        for kinds, named, hosts in ((["gpu", "gpu"], "7,2", ()), (["gpu"], "", ()), (["gpu", "gpu"], "7", ("a:1", "b:1"))):
            self.assertNotIn("gpus_shared", self.started(kinds, named, hosts)[1])


if __name__ == "__main__":
    unittest.main()
