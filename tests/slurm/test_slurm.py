"""Runs in shards on a real Slurm with two nodes on this machine: whatever is killed, full or run twice, no cell is lost, none
is there twice, and the table is that of a run in one process.

    python3 -m unittest discover -s tests/slurm

Needs root and Debian's slurm-wlm. PLACEBENCH is the command [target/release/placebench]. With PLACEBENCH_SLURM_SUITE the
test without faults and the one that kills a shard run that suite, such as laich2017, instead of a small one; more arguments
of 'run' may follow its name."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# A suite of one's own may take long.
SECONDS = 7200 if "PLACEBENCH_SLURM_SUITE" in os.environ else 600
PLACEBENCH = os.environ.get("PLACEBENCH", str(HERE.parents[1] / "target/release/placebench"))

MEASURED = {"place_seconds", "simulate_seconds", "peak_rss_bytes", "host", "processor", "commit"}

DOCS = HERE.parents[1] / "docs"

# Sixteen graphs of six cells; the program makes a graph take a second.
COMMON = HERE.parent / "common"
SUITE = (COMMON / "sharded.toml").read_text().replace("repetitions = 6", "repetitions = 8")
SLOW = (COMMON / "slow.sh").read_text().replace("sleep 0.25", "sleep 1")


def wait_for(what, look, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"no {what} within {seconds} s")


def stop(process):
    """Kills a daemon that these tests started; its process group has nothing else."""
    if process.poll() is None:
        process.kill()
    process.wait()


class Cluster:
    """A controller and two nodes, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "state").mkdir()
        template = (HERE / "slurm.conf.template").read_text()
        conf = folder / "slurm.conf"
        conf.write_text(template.replace("HOSTNAME", socket.gethostname()).replace("RUNDIR", str(folder)))
        self.environment = {**os.environ, "SLURM_CONF": str(conf)}
        self.nodes = {}
        self.controller = None

    def start(self):
        self.start_controller("-c")
        for node in ["n1", "n2"]:
            self.start_node(node)
        self.wait_for_nodes()

    def start_controller(self, *options):
        self.controller = self.daemon("slurmctld", "-D", *options)

    def start_node(self, node, before=""):
        """`before` is a shell command that runs first, in a mount namespace of the node's own."""
        if before:
            script = f"{before} && exec slurmd -D -N {node}"
            self.nodes[node] = self.daemon("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
        else:
            self.nodes[node] = self.daemon("slurmd", "-D", "-N", node)

    def daemon(self, *command):
        with open(self.folder / "daemons.log", "ab") as log:
            return subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_for_nodes(self):
        def idle():
            states = self.ask("sinfo", "-h", "-N", "-o", "%N %t")
            return sorted(states.split("\n")) == ["n1 idle", "n2 idle"]

        wait_for("two idle nodes", idle)

    def ask(self, *command):
        result = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return result.stdout.strip()

    def stop(self):
        self.ask("scancel", "--state=PENDING", "--user=root")
        self.ask("scancel", "--user=root")
        for process in [*self.nodes.values(), self.controller]:
            if process:
                stop(process)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("slurmctld") and shutil.which("slurmd"), "needs root and Slurm")
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="placebench-slurm-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "s.toml").write_text(SUITE)
        (cls.folder / "slow.sh").write_text(SLOW)
        # The commands of the documentation say 'placebench', and nodes inherit the path.
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin/placebench").symlink_to(PLACEBENCH)
        os.environ["PATH"] = f"{cls.folder / 'bin'}:{os.environ['PATH']}"
        (cls.folder / "cluster").mkdir()
        cls.cluster = Cluster(cls.folder / "cluster")
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        cls.expected = cls.one_process("s.toml", "--threads", "16")

    @classmethod
    def one_process(cls, *arguments):
        out = "one-process"
        shutil.rmtree(cls.folder / out, ignore_errors=True)
        cls.placebench("run", *arguments, "-q", "--out", out, "--table", "one.json", check=True)
        return cls.rows("one.json")

    @classmethod
    def placebench(cls, *arguments, check=False):
        command = [PLACEBENCH, *arguments]
        environment = cls.cluster.environment
        return subprocess.run(
            command, cwd=cls.folder, env=environment, capture_output=True, text=True, check=check, timeout=SECONDS
        )

    @classmethod
    def rows(cls, table):
        rows = json.loads((cls.folder / table).read_text())
        return [{name: value for name, value in row.items() if name not in MEASURED} for row in rows]

    @classmethod
    def files(cls, folder):
        """What is in a folder: each file with its bytes."""
        root = cls.folder / folder
        return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def shell(self, script, folder):
        environment = self.cluster.environment
        result = subprocess.run(
            ["sh", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=150
        )
        self.assertEqual(result.returncode, 0, f"{script}\n{result.stderr}")
        return result

    def begin(self, out, *arguments, suite=("s.toml",)):
        """Begins a run in shards and follows it in the background."""
        command = [PLACEBENCH, "run", *suite, "--out", out, "--table", f"{out}.json", "--launcher", "slurm"]
        command += ["--shards", "8", *arguments]
        following = subprocess.Popen(
            command, cwd=self.folder, env=self.cluster.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(following.stderr.close)
        self.addCleanup(stop, following)
        return following

    def end(self, following, out, seconds=150, expected=None):
        _, said = following.communicate(timeout=seconds)
        self.assertEqual(following.returncode, 0, said)
        self.assertEqual(self.rows(f"{out}.json"), expected or self.expected)
        return said

    def lines(self, out):
        """Finished cells in the parts, each as often as it was run."""
        parts = (self.folder / out / "parts").glob("cells.*.jsonl")
        return sum(max(0, part.read_text().count("\n") - 1) for part in parts)

    def shards(self, out):
        """Processes of shards of a run, by shard."""
        run, found = str(self.folder / out), {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except (OSError, UnicodeDecodeError):
                continue
            if run in words and "--shard" in words and words[0] == PLACEBENCH:
                found[words[words.index("--shard") + 1]] = int(entry.name)
        return found

    def test_eight_shards_on_two_nodes_make_the_table_of_one_process(self):
        suite = shlex.split(os.environ.get("PLACEBENCH_SLURM_SUITE", "s.toml"))
        expected = self.one_process(*suite)
        result = self.placebench(
            "run", *suite, "--out", "plain", "--table", "plain.json", "--launcher", "slurm", "--shards", "8",
            "--partition", "all", "--", "--time=60",
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.rows("plain.json"), expected)
        self.assertIn("submitted 8 of 8 shards as job ", result.stderr)
        # And once more, with a shard that is killed on the way.
        following = self.begin("once-more", suite=suite)
        _, pid = wait_for("shard", lambda: next(iter(self.shards("once-more").items()), None))
        wait_for("row", lambda: self.lines("once-more") > 0)
        os.kill(pid, signal.SIGKILL)
        said = self.end(following, "once-more", SECONDS, expected)
        self.assertRegex(said, "submitted 1 of 8 shards")

    def test_more_shards_than_an_array_takes_are_refused_before_anything_is_submitted(self):
        result = self.placebench("run", "s.toml", "--out", "many", "--launcher", "slurm", "--shards", "9")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("an array has at most 8 tasks here (MaxArraySize), not 9: use --shards 8 or fewer", result.stderr)
        self.assertEqual(self.cluster.ask("squeue", "-h"), "")

    def test_a_shard_killed_by_its_number_and_one_run_twice_at_once(self):
        following = self.begin("killed")
        shard, pid = wait_for("shard", lambda: next(iter(self.shards("killed").items()), None))
        wait_for("row", lambda: self.lines("killed") > 0)
        os.kill(pid, signal.SIGKILL)
        # A zombie: another process runs a shard that Slurm runs too.
        other = wait_for("other shard", lambda: next((s for s in self.shards("killed") if s != shard), None))
        zombie = self.placebench("run", "--resume", "killed", "-q", "--shard", other)
        self.assertEqual(zombie.returncode, 0, zombie.stderr)
        said = self.end(following, "killed")
        self.assertRegex(said, "submitted 1 of 8 shards")
        self.assertGreater(self.lines("killed"), 96, "no cell was run twice: the test says nothing")

    def test_b_the_controller_is_restarted(self):
        following = self.begin("controller")
        wait_for("row", lambda: self.lines("controller") > 0)
        # Asked to end, it saves its state. For a while nobody answers.
        self.cluster.controller.terminate()
        self.cluster.controller.wait(timeout=30)
        time.sleep(4)
        self.cluster.start_controller()
        self.end(following, "controller")

    def test_c_ctrl_c_leaves_the_shards_running_and_another_process_follows_them(self):
        following = self.begin("left")
        wait_for("row", lambda: self.lines("left") > 0)
        refused = self.placebench("run", "--resume", "left", "--launcher", "slurm")
        self.assertIn("has shards in Slurm already: follow them with", refused.stderr)
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=30)
        self.assertEqual(following.returncode, 130, said)
        self.assertIn(f"shards that were submitted go on; to follow it: placebench run --follow {self.folder / 'left'};", said)
        before = self.lines("left")
        wait_for("more rows", lambda: self.lines("left") > before)
        result = self.placebench("run", "--follow", "left", "--table", "left.json", "-q")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.rows("left.json"), self.expected)
        self.assertEqual(self.lines("left"), 96, "a shard was run twice")

    def test_d_the_daemon_of_a_node_is_killed(self):
        following = self.begin("node")
        wait_for("row", lambda: self.lines("node") > 0)
        stop(self.cluster.nodes["n2"])
        # What ran on the node goes on without it, and Slurm runs it again elsewhere: twice at once, if it is slow.
        self.end(following, "node")
        self.cluster.start_node("n2")
        self.cluster.wait_for_nodes()

    def test_e_the_disk_of_a_node_is_full(self):
        # The folder has to be there before a small disk is mounted in it.
        self.placebench("run", "s.toml", "--out", "full", "-q", "--shard", "8/8", check=True)
        stop(self.cluster.nodes["n2"])
        parts = self.folder / "full" / "parts"
        self.cluster.start_node("n2", f"mount -t tmpfs -o size=8k none {shlex.quote(str(parts))}")
        self.cluster.wait_for_nodes()
        said = self.end(self.begin("full"), "full")
        self.assertIn("without n2, where shards failed", said)
        stop(self.cluster.nodes["n2"])
        self.cluster.start_node("n2")
        self.cluster.wait_for_nodes()

    def test_f_a_graph_and_a_collection_are_those_of_one_process(self):
        for name, shards, command in [
            ("graph", 4, "generate gnm(vertices=20000,edges=200000) --stream --shards 4"),
            ("collection", 3, "dataset scale --largest 1e4"),
        ]:
            on_slurm = ["--launcher", "slurm"] + (["--shards", "3"] if name == "collection" else [])
            self.placebench(*command.split(), "--out", f"{name}-whole", check=True)
            result = self.placebench(*command.split(), "--out", name, *on_slurm, "--", "--time=5")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"submitted {shards} of {shards} shards as job ", result.stderr)
            made, whole = self.files(name), self.files(f"{name}-whole")
            self.assertEqual(sorted(made), sorted(whole))
            self.assertEqual([path for path in whole if made[path] != whole[path]], [])

    def test_g_the_commands_of_the_tutorial(self):
        text = (DOCS / "TUTORIAL.md").read_text()
        section = text[text.index(" On a cluster") :]
        section = section[: section.index("\n## ")]
        submit, shard = re.search("placebench run .* --launcher slurm .*", section), re.search("placebench run .* --shard .*", section)
        follow = "placebench run --follow cluster"
        self.assertIn(f"\n{follow}\n", section)
        study = self.folder / "study"
        shutil.copytree(DOCS / "tutorial", study)
        self.shell("placebench run communication.toml --out whole -q --table whole.json", study)
        said = self.shell(submit[0], study).stderr
        self.assertRegex(said, "submitted 8 of 8 shards as job [0-9]+ of Slurm; .*scancel --name=placebench-")
        self.shell(f"{follow} --table cluster.json", study)
        self.assertEqual(self.rows("study/cluster.json"), self.rows("study/whole.json"))
        self.assertRegex(self.shell(shard[0], study).stdout, "^shard 3/8: [0-9]+ cells; the last: the table is written: cluster\n")

    def test_h_devices_are_processes_on_two_nodes(self):
        script = re.search("```\n(#!/bin/sh\n#SBATCH .*?)```", (DOCS / "SCALE.md").read_text(), re.DOTALL)[1]
        # Two nodes on one machine need an address each, so that their ports differ.
        script = script.replace("0.0.0.0", "$SLURMD_NODENAME")
        self.assertIn("$SLURMD_NODENAME", script)
        (self.folder / "devices.sh").write_text(script)
        hosts = self.folder / "hosts"
        hosts.write_text(pathlib.Path("/etc/hosts").read_text() + "127.0.0.2 n1\n127.0.0.3 n2\n")
        bind = f"mount --bind {shlex.quote(str(hosts))} /etc/hosts"
        for node, before in [("n1", bind), ("n2", bind)]:
            stop(self.cluster.nodes[node])
            self.cluster.start_node(node, before)
        self.cluster.wait_for_nodes()
        result = subprocess.run(
            ["sbatch", "--wait", "--output=devices.log", "devices.sh"], cwd=self.folder,
            env=self.cluster.environment, capture_output=True, text=True, timeout=100,
        )
        said = (self.folder / "devices.log").read_text()
        self.assertEqual(result.returncode, 0, said)
        for address in ["127.0.0.2:7100", "127.0.0.2:7101", "127.0.0.3:7100", "127.0.0.3:7101"]:
            self.assertIn(f"listening {address}\n", said)
        self.assertIn("makespan", said)

    def test_i_what_scancel_and_requeue_kill_is_no_result(self):
        following = self.begin("cancelled")

        def running():
            # Both shards of a moment, each in the middle of a program that takes a second.
            tasks = self.cluster.ask("squeue", "-h", "-t", "R", "-o", "%F_%K").split()
            return tasks if len(tasks) >= 2 and self.lines("cancelled") > 0 else None

        cancelled, requeued, *_ = wait_for("two running shards", running)
        self.cluster.ask("scancel", cancelled)
        self.cluster.ask("scontrol", "requeue", requeued)
        said = self.end(following, "cancelled")
        self.assertRegex(said, "submitted 1 of 8 shards")
        parts = (self.folder / "cancelled" / "parts").glob("cells.*.jsonl")
        self.assertEqual([part.name for part in parts if "signal" in part.read_text()], [])


if __name__ == "__main__":
    unittest.main()
