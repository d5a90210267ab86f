import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

from placebench_extract import jax_models, models, torch_models, write
from placebench_extract.__main__ import main


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(arguments))
    return status, out.getvalue(), err.getvalue()


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def test_list_names_every_model(self):
        status, out, _ = run("list")
        self.assertEqual(status, 0)
        names = [*models.CATALOGUE, *jax_models.names(), *torch_models.CATALOGUE, *torch_models.OTHERS]
        self.assertEqual([line.split()[0] for line in out.splitlines()], names)

    def test_a_model_becomes_a_folder_and_a_second_run_replaces_it(self):
        for _ in range(2):
            status, out, _ = run(
                "convnet", "--out", str(self.out), "--traces", "1",
                "--set", "batch=2", "--set", "side=8", "--set", "channels=2", "--set", "dense=4",
            )
            self.assertEqual((status, out), (0, f"{self.out / 'convnet'}\n"))
            files = {"graph.pb", "ops.csv", "tensors.csv", "provenance.toml"}
            self.assertEqual(set(os.listdir(self.out / "convnet")), files)
            self.assertEqual(os.listdir(self.out), ["convnet"])

    def test_mistakes_give_one_clear_line(self):
        file = self.out / "file"
        file.write_text("")
        for arguments, message in (
            (["covnet", "--out", str(self.out)], "error: unknown model 'covnet'; known: convnet, "),
            (["convnet", "--out", str(self.out), "--set", "bach=2"], "error: convnet has no parameter 'bach'; it has batch, "),
            (["convnet", "--out", str(file)], f"error: cannot write to {file}: "),
            (["convnet"], "error: where to? add --out DIR"),
        ):
            status, _, err = run(*arguments)
            self.assertEqual(status, 2)
            self.assertIn(message, err.splitlines()[-1])

    def test_a_failed_write_leaves_the_old_folder(self):
        write.write_folder(self.out, "m", {"a": b"1"})
        with self.assertRaises(write.OutputError):
            write.write_folder(self.out, "m", {"a": b"2", "no/such/folder": b""})
        self.assertEqual((self.out / "m" / "a").read_bytes(), b"1")
        self.assertEqual(os.listdir(self.out), ["m"])


class Tables(unittest.TestCase):
    def test_toml_has_tables_last_and_escapes(self):
        text = write.provenance_toml({"a": 'say "x" \\', "t": {"n": 1}, "b": True, "c": [1, 2.5]}).decode()
        self.assertEqual(text, 'a = "say \\"x\\" \\\\"\nb = true\nc = [1, 2.5]\n\n[t]\nn = 1\n')

    def test_times_are_plain_numbers(self):
        self.assertEqual([write.seconds(x) for x in (0.0, 1.5, 1.234e-07)], ["0", "1.5", "1.234e-07"])

    def test_a_port_without_a_size_is_counted(self):
        from placebench_extract.tf import v1

        definition = v1.GraphDef()
        definition.node.add(name="a", op="Const")
        definition.node.add(name="b", op="AddN", input=["a", "a:1", "^a"])
        rows, unknown = write.tensor_rows(definition, {("a", 0): 4, ("b", 0): 8}, {("b", 0): 8})
        self.assertEqual((rows, unknown), ([("a", 0, 4), ("a", 1, 0), ("b", 0, 8)], 1))


if __name__ == "__main__":
    unittest.main()
