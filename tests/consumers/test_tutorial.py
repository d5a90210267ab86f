"""The commands of the tutorial that make graphs for other tools. Those that install are left out.

PLACEBENCH names the command. A tool that is not installed skips its test, with the reason.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_formats import WFFORMAT

COMMAND = os.environ.get("PLACEBENCH", "target/release/placebench")
TUTORIAL = pathlib.Path(__file__).parents[2] / "docs/TUTORIAL.md"


def blocks():
    """The fenced blocks of the section, each a list of commands."""
    section = re.search(r"^## \d+\. Graphs for other tools$(.*?)^## ", TUTORIAL.read_text(), re.M | re.S).group(1)
    return [block.strip().splitlines() for block in re.findall(r"^```\n(.*?)^```$", section, re.M | re.S)]


class Tutorial(unittest.TestCase):
    def run_block(self, tool, **variables):
        """Runs the commands for a tool but the one that installs it."""
        (block,) = [block for block in blocks() if block[0].endswith(f" {tool}")]
        self.assertEqual(len(block), 3, block)
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder) / "bin"
            programs.mkdir()
            (programs / "placebench").symlink_to(pathlib.Path(COMMAND).resolve())
            (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (programs / "python3").chmod(0o755)
            environment = {**os.environ, **variables, "PATH": f"{programs}:{os.environ['PATH']}"}
            script = "\n".join(block[1:])
            return subprocess.run(
                ["sh", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
            )

    def test_metis_partitions_a_graph(self):
        if shutil.which("gpmetis") is None:
            self.skipTest("needs gpmetis (Debian: metis)")
        done = self.run_block("metis")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("#Vertices: 10000, #Edges: 80000, #Parts: 8", done.stdout)

    def test_networkx_reads_a_workflow(self):
        try:
            import networkx  # noqa: F401
        except ImportError as error:
            self.skipTest(f"needs networkx: {error}")
        done = self.run_block("networkx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"DiGraph.* with \d+ nodes and \d+ edges")

    def test_wfcommons_reads_a_workflow(self):
        try:
            import wfcommons  # noqa: F401
        except ImportError as error:
            self.skipTest(f"needs wfcommons: {error}")
        done = self.run_block("wfcommons")
        if done.returncode != 0 and "Unable to fetch" in done.stderr:
            print(f"without WfCommons' own schema: {done.stderr.strip().splitlines()[-1]}")
            with tempfile.TemporaryDirectory() as cache:
                # Where WfCommons keeps what it has fetched.
                schema = pathlib.Path(cache) / "wfcommons/wfformat-v1.6-wfcommons-schema.json"
                schema.parent.mkdir()
                schema.write_text(json.dumps(WFFORMAT))
                done = self.run_block("wfcommons", XDG_CACHE_HOME=cache)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("montage", done.stdout.lower())


if __name__ == "__main__":
    unittest.main()
