"""The package as `pip` installs it: its command, what it says about itself, and its page on PyPI."""

import contextlib
import importlib.metadata
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import unittest

import placebench

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = shutil.which("placebench", path=sysconfig.get_path("scripts"))
MODULE = [sys.executable, "-m", "placebench"]


def run(*words, start=(SCRIPT,), **more):
    return subprocess.run([*start, *words], capture_output=True, timeout=120, **more)


class Command(unittest.TestCase):
    def test_script_and_module_are_the_command_of_the_same_version(self):
        for start in ([SCRIPT], MODULE):
            done = run("--version", start=start, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split()[:2], ["placebench", placebench.__version__])

    def test_answers_for_programs_are_those_of_the_library(self):
        done = run("list", "placers", "--json", start=MODULE)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual([entry["name"] for entry in json.loads(done.stdout)["placers"]], placebench.names("placers"))

    def test_mistakes_have_exit_codes_and_no_traceback(self):
        for code, words in ((1, ["place", "nope"]), (2, ["--nope"]), (2, ["place", os.fsdecode(b"\xff")])):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
            self.assertTrue(done.stderr.startswith(b"error: "), done.stderr)

    @unittest.skipUnless(os.name == "posix", "pipes and signals of Unix")
    def test_a_reader_that_closes_the_pipe_ends_it_quietly(self):
        done = subprocess.run(f"'{SCRIPT}' list placers | head -1", shell=True, capture_output=True, timeout=120)
        self.assertEqual((len(done.stdout.splitlines()), done.stderr), (1, b""))

    @unittest.skipUnless(os.name == "posix", "pipes and signals of Unix")
    def test_an_interrupt_ends_a_run_with_130_and_keeps_what_is_done(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [SCRIPT, "run", "--quiet", "--out", "out"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            cells, until = pathlib.Path(folder) / "out" / "cells.jsonl", time.monotonic() + 60
            while time.monotonic() < until and not (cells.is_file() and cells.read_bytes().count(b"\n") > 1):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn(b"the same command goes on from there", err)
            self.assertNotIn(b"Traceback", err)
            self.assertGreater(len(placebench.read_results(cells.parent)), 0)

    @unittest.skipUnless(os.name == "posix", "devices are processes of Unix")
    def test_what_works_in_processes_starts_this_command(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["execute", "convnet", "--placer", "single_device", "--transport", "tcp", "--repetitions", "1", "--devices", "1"]
            done = run(*words, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)


class Package(unittest.TestCase):
    def test_only_what_is_public_is_listed(self):
        self.assertEqual(dir(placebench), sorted(placebench.__all__))

    def test_one_version(self):
        self.assertEqual(placebench.__version__, importlib.metadata.version("placebench"))

    def test_extras_are_what_the_extractors_tests_install(self):
        extras = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for extra, file in (("jax", "requirements-jax.txt"), ("torch", "requirements-torch.txt"), ("tensorflow", "requirements.txt")):
            lines = (ROOT / "python" / "tests_extract" / file).read_text().splitlines()
            installed = [line for line in lines if line and not line.startswith("#")]
            self.assertEqual([line.split(";")[0] for line in extras[extra]], installed)

    def test_the_licences_are_in_it(self):
        files = {file.name: file.read_text() for file in importlib.metadata.files("placebench") if "licenses" in file.parts}
        self.assertEqual(files, {name: (ROOT / name).read_text() for name in ("LICENSE-APACHE", "LICENSE-MIT")})

    def test_the_extractor_lists_its_models_without_tensorflow_and_jax(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("list", start=[sys.executable, "-m", "placebench_extract"], cwd=folder, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("llama3_8b", done.stdout)


class Page(unittest.TestCase):
    """What PyPI shows."""

    def test_its_code_prints_what_it_says(self):
        text = (ROOT / "python" / "PYPI.md").read_text()
        code, says = (re.search(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1] for kind in ("python", "text"))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "PYPI.md", "exec"), {"__name__": "page"})
        self.assertEqual(printed.getvalue(), says)

    def test_its_links_are_whole_and_lead_to_files(self):
        text = (ROOT / "python" / "PYPI.md").read_text()
        targets = re.findall(r"\]\(([^)\s]+)\)", text)
        self.assertGreater(len(targets), 5)
        for target in targets:
            self.assertTrue(target.startswith("https://"), target)
            found = re.fullmatch(r"https://(?:github\.com|raw\.githubusercontent\.com)/placebench/placebench/(?:blob/)?main/(.+)", target)
            if found:
                self.assertTrue((ROOT / found[1]).is_file(), target)


if __name__ == "__main__":
    unittest.main()
