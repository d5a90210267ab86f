"""The metadata of a collection is read by the tool that owns the format, and its tables by pandas.

PLACEBENCH names the command. A tool that is not installed skips its test, with the reason.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ.get("PLACEBENCH", "target/release/placebench")


class Collections(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.collection = pathlib.Path(cls.folder.name) / "optimality"
        make = [COMMAND, "dataset", "optimality", "--quiet", "--out", str(cls.collection)]
        subprocess.run(make, check=True, capture_output=True, timeout=600)

    def package(self, name):
        try:
            return __import__(name)
        except ImportError as error:
            self.skipTest(f"needs {name}: {error}")

    def test_mlcroissant_finds_no_fault_and_reads_the_records(self):
        mlcroissant = self.package("mlcroissant")
        dataset = mlcroissant.Dataset(jsonld=str(self.collection / "croissant.json"))
        issues = dataset.metadata.ctx.issues
        self.assertEqual(list(issues.errors), [])
        # The same command makes the same files, so that there is no date.
        warnings = [warning for warning in issues.warnings if "datePublished" not in warning]
        self.assertEqual(warnings, [])
        graphs = list(dataset.records("index"))
        self.assertEqual(len(graphs), 150)
        best = list(dataset.records("best"))
        self.assertEqual(len(best), 150)
        self.assertTrue(all(record["best/optimal"] for record in best))
        names = {record["index/name"] for record in graphs}
        self.assertEqual(names, {record["best/graph"] for record in best})

    def test_sha256sum_finds_every_file_intact(self):
        check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
        subprocess.run(check, cwd=self.collection, check=True, timeout=60)


if __name__ == "__main__":
    unittest.main()
