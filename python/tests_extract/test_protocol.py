import json
import os
import socket
import tempfile
import unittest
from pathlib import Path

from placebench_extract.execute import network, protocol


def small(**changes):
    """Two ops on two devices, one sends to the other."""
    return {
        "version": 1, "graph": "g", "graph_ops": ["a", "b"], "parameters": {}, "placement": [0, 1], "order": [[0], [1]],
        "devices": [{"name": f"cpu:{i}", "kind": "cpu", "host": ""} for i in range(2)], "mode": "replay",
        "transfers": [{"source": 0, "output": 0, "from": 0, "to": 1, "bytes": 4}],
        "warm_up": 0, "repetitions": 1, "traced": 1, "hosts": [], "token": "", **changes,
    }


class Problems(unittest.TestCase):
    def read(self, content):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "problem.json"
            file.write_text(content if isinstance(content, str) else json.dumps(content))
            return protocol.read_problem(file)

    def test_a_problem_is_read(self):
        problem = self.read(small())
        self.assertEqual((problem.order, problem.mode, problem.transport), ([[0], [1]], "replay", "memory"))
        self.assertEqual(self.read(small(transport="tcp")).transport, "tcp")

    def test_what_does_not_fit_together_is_named(self):
        lacking = small()
        del lacking["placement"]
        for content, message in (
            ("{", "problem.json: "),
            ("[]", "expected one JSON object"),
            (small(version=2), "version 2; this driver reads version 1"),
            (small(transport="mpi"), "transport 'mpi': expected memory or tcp"),
            (lacking, "placement is missing"),
            (small(order={}), "order is no list"),
            (small(mode="fast"), "mode 'fast': expected replay or dynamic"),
            (small(repetitions=0), "repetitions and traced 1 or more"),
            (small(placement=[0]), "placement has 1 entries for 2 ops"),
            (small(placement=[0, 2]), "placement of op 1: 2 is no device; there are 2"),
            (small(order=[[0, 1], []]), "order of device 0: 1 is no op of this device"),
            (small(order=[[0], []]), "order lacks op 1 (b)"),
            (small(transfers=[{"source": 1, "output": 0, "from": 0, "to": 1, "bytes": 4}]), "transfer 0: its source is not on device 0"),
        ):
            with self.assertRaises(protocol.ExecuteError) as caught:
                self.read(content)
            self.assertEqual(caught.exception.kind, "problem")
            self.assertIn(message, str(caught.exception))

    def test_the_load_of_others_is_a_share_or_unknown(self):
        load = protocol.OtherLoad([])
        if load.share is not None:
            self.assertTrue(0 <= load.read() <= 1)


class Network(unittest.TestCase):
    def test_only_named_addresses_reach_a_listening_socket(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            network.accept_only(["127.0.0.5", "::1"], [listener.fileno()])
            for address, accepted in (("127.0.0.5", True), ("127.0.0.6", False)):
                with socket.socket() as caller:
                    caller.bind((address, 0))
                    caller.settimeout(0.3)
                    try:
                        caller.connect(listener.getsockname())
                        found = True
                    except TimeoutError:
                        found = False
                self.assertEqual(found, accepted, address)

    def test_addresses_are_those_of_the_hosts_and_the_loopback(self):
        self.assertEqual(network.addresses(["10.1.2.3:2222", "10.1.2.3:2223", "10.1.2.4"]), ["127.0.0.1", "::1", "10.1.2.3", "10.1.2.4"])
        with self.assertRaises(OSError):
            network.addresses(["no such host:1"])

    def test_in_a_network_of_its_own_a_process_reaches_itself_alone(self):
        outside = socket.socket()
        outside.bind(("127.0.0.1", 0))
        outside.listen()
        self.addCleanup(outside.close)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            answer = b"forbidden"
            if network.leave():
                inside = socket.socket()
                inside.bind(("127.0.0.1", 0))
                inside.listen()
                socket.create_connection(inside.getsockname(), timeout=2).close()
                try:
                    socket.create_connection(outside.getsockname(), timeout=2).close()
                    answer = b"reached"
                except OSError:
                    answer = b"alone"
            os.write(write, answer)
            os._exit(0)
        os.waitpid(child, 0)
        answer = os.read(read, 20)
        if answer == b"forbidden":
            self.skipTest("the system permits no network namespaces")
        self.assertEqual(answer, b"alone")


if __name__ == "__main__":
    unittest.main()
