"""docs/PYTHON.md and the type stubs: the code of the page runs in its order and prints what the page says, and the stubs name what
there is."""

import ast
import contextlib
import importlib.util
import inspect
import io
import os
import pathlib
import re
import tempfile
import unittest

import placebench
from placebench import _placebench

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "PYTHON.md"
STUBS = pathlib.Path(placebench.__file__).parent / "_placebench.pyi"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


class Page(unittest.TestCase):
    def test_its_code_runs_in_order_and_prints_what_it_says(self):
        before, printed, names = os.getcwd(), io.StringIO(), {"__name__": "notebook"}
        codes = blocks("python")
        self.assertGreater(len(codes), 8)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            os.chdir(folder)
            try:
                for number, code in enumerate(codes):
                    exec(compile(code, f"block {number} of PYTHON.md", "exec"), names)
            finally:
                os.chdir(before)
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        for line in "".join(blocks("text")).splitlines():
            self.assertIn(line, lines)

    def test_it_names_everything_that_the_package_exports(self):
        text = PAGE.read_text()
        for name in placebench.__all__:
            if not name.startswith("__"):
                self.assertRegex(text, rf"\b{name}\b")


class Stubs(unittest.TestCase):
    def test_they_name_what_there_is(self):
        tree = ast.parse(STUBS.read_text())
        public = lambda name: not name.startswith("_") or name in ("__len__", "__arrow_c_stream__", "_repr_html_", "_repr_svg_")
        stubbed = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        there = {name for name in vars(_placebench) if public(name)}
        self.assertEqual(set(stubbed), there)
        for name, node in stubbed.items():
            if isinstance(node, ast.ClassDef) and not issubclass(getattr(_placebench, name), BaseException):
                own = {member for member in vars(getattr(_placebench, name)) if public(member)}
                self.assertEqual({item.name for item in node.body if isinstance(item, ast.FunctionDef) and public(item.name)}, own, name)

    def test_functions_take_what_they_say(self):
        tree = ast.parse(STUBS.read_text())
        for node in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            said = [argument.arg for argument in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
            self.assertEqual(said, list(inspect.signature(getattr(_placebench, node.name)).parameters), node.name)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy_finds_the_package_typed_as_it_is(self):
        from mypy import stubtest

        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            failed = stubtest.test_stubs(stubtest.parse_options(["placebench", "--ignore-missing-stub"]))
        self.assertFalse(failed, out.getvalue())


if __name__ == "__main__":
    unittest.main()
