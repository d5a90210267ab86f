import contextlib
import io
import math
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise unittest.SkipTest("needs JAX") from None

import numpy as np

from placebench_extract.__main__ import main
from placebench_extract.jaxgraph import costs
from placebench_extract.jaxgraph.flatten import Op, Output, Ref, TraceError, flatten
from placebench_extract.graphdef import graph_def

from jax_problem import flat_graph

SMALL = {
    "gpt2": dict(batch=1, length=4, layers=2, width=8, heads=2, vocabulary=11),
    "llama": dict(batch=1, length=4, layers=2, width=8, heads=2, groups=1, inner=12, vocabulary=11),
    "moe": dict(batch=1, length=4, layers=1, width=8, heads=2, groups=1, experts=3, inner=12, capacity=3, vocabulary=11),
    "vit": dict(batch=1, side=8, layers=2, width=8, heads=2, classes=5),
    "unet": dict(batch=1, side=8, width=8, levels=2, heads=2, groups=2),
}


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


def run_flat(flat, leaves):
    """The graph's results, operation by operation."""
    values = []
    for op in flat.ops:
        if op.argument is not None:
            values.append((leaves[op.argument],))
        elif op.equation is None:
            values.append((op.constant,))
        else:
            values.append(op.equation.function()(*[values[ref.op][ref.port] for ref in op.inputs]))
    return [values[ref.op][ref.port] if isinstance(ref, Ref) else ref for ref in flat.results]


class Flattening(unittest.TestCase):
    def test_a_tiny_step_gives_this_graph(self):
        def step(params, state, inputs):
            with jax.named_scope("layer_0"):
                h = jax.jit(lambda x: x * 2.0)(inputs @ params["w"])
                unused = jnp.sin(h)  # noqa: F841
            with jax.named_scope("layer_1"):
                y = jax.checkpoint(jnp.tanh)(h + params["b"])
            return {"answer": y, "params": {"w": params["w"] - 1.0, "b": params["b"]}, "state": {"m": {"w": state["m"]["w"] * 0.5}}}

        params = {"b": shape(3), "w": shape(4, 3)}
        state, inputs = {"m": {"w": shape(4, 3)}}, shape(2, 4)
        flat = flatten(step, {"params": params, "state": state, "inputs": inputs}, ("params", "state"))
        sizes = lambda op: [output.bytes for output in op.outputs]  # noqa: E731
        found = [
            (op.name, op.type, [(r.op, r.port) for r in op.inputs], sizes(op), op.layer, op.colocated, op.memory_bytes)
            for op in flat.ops
        ]
        self.assertEqual(found, [
            ("params/b", "parameter", [], [12], "layer_1", None, 12),
            ("params/w", "parameter", [], [48], "layer_0", None, 48),
            ("state/m/w", "state", [], [48], "layer_0", 1, 48),
            ("inputs", "input", [], [32], "layer_0", None, 0),
            ("layer_0/dot_general_0", "dot_general", [(3, 0), (1, 0)], [24], "layer_0", None, 0),
            ("layer_0/mul_0", "mul", [(4, 0)], [24], "layer_0", None, 0),
            ("layer_1/broadcast_in_dim_0", "broadcast_in_dim", [(0, 0)], [12], "layer_1", None, 0),
            ("layer_1/add_0", "add", [(5, 0), (6, 0)], [24], "layer_1", None, 0),
            ("layer_1/tanh_0", "tanh", [(7, 0)], [24], "layer_1", None, 0),
            ("layer_0/sub_0", "sub", [(1, 0)], [48], "layer_0", 1, 0),
            ("layer_0/mul_1", "mul", [(2, 0)], [48], "layer_0", 1, 0),
        ])  # fmt: skip
        self.assertEqual(flat.result_names, ["answer", "params/b", "params/w", "state/m/w"])
        self.assertEqual([ref.op for ref in flat.results], [8, 0, 9, 10])

    def test_the_graph_computes_what_the_function_computes(self):
        @jax.custom_jvp
        def cube(x):
            return x * x * x

        cube.defjvp(lambda x, t: (cube(x[0]), 3.0 * x[0] * x[0] * t[0]))
        table = np.arange(12, dtype=np.float32).reshape(3, 4)

        def step(x, n):
            y = jnp.where(x > 0.1, cube(x), -x) @ table
            total = jax.lax.scan(lambda s, row: (s + row, s * row), y[0], y)[0]
            return jax.lax.cond(n > 2, lambda: total + 1.0, lambda: total), jnp.sort(y, 0)[0], n, 3

        grad = lambda x, n: (jax.grad(lambda x: step(x, n)[0].sum())(x), *step(x, n))  # noqa: E731
        x, n = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.int32(3)
        flat = flatten(grad, {"x": x, "n": n})
        self.assertTrue({"scan", "cond", "constant"} <= {op.type for op in flat.ops})
        self.assertTrue({"jit", "pjit", "custom_jvp_call"}.isdisjoint(op.type for op in flat.ops))
        for mine, true in zip(run_flat(flat, [x, n]), jax.tree.leaves(grad(x, n)), strict=True):
            np.testing.assert_allclose(mine, true, rtol=1e-6)

    def test_operations_of_equal_attributes_compute_the_same_function(self):
        table, other = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
        loop = lambda x, table: jax.lax.scan(lambda s, row: (s + row * jnp.asarray(table), None), x[0], x)[0]  # noqa: E731
        step = lambda x: (loop(x, table), loop(x, table.copy()), loop(x, other), x + table, x * table, x + other, jnp.sin(x))  # noqa: E731
        flat = flatten(step, {"x": shape(2, 3)})
        self.assertIsNone(flat.ops[0].attributes)
        self.assertTrue(all(len(op.attributes) == 16 for op in flat.ops[1:]))
        loops = [op.attributes for op in flat.ops if op.type == "scan"]
        constants = {op.constant.tobytes(): op.attributes for op in flat.ops if op.type == "constant"}
        if constants:
            self.assertEqual(len(set(constants.values())), len(constants), "values differ")
        self.assertEqual(loops[0], loops[1])
        inputs = [[flat.ops[ref.op].attributes for ref in op.inputs] for op in flat.ops if op.type == "scan"]
        self.assertNotEqual((loops[0], inputs[0]), (loops[2], inputs[2]), "a function that holds another array")

    def test_a_text_with_an_address_says_nothing(self):
        output = Output((2,), np.dtype("float32"))
        op = Op("f", [], [output])
        op.equation = type("Equation", (), {"key": "f(; fun=<function f at 0x7f3a5c0d1e20>)"})
        self.assertIsNone(op.attributes)

    def test_another_process_writes_the_same_bytes(self):
        code = (
            "import sys, hashlib; from test_jax_graph import SMALL; from jax_problem import flat_graph; "
            "from placebench_extract.graphdef import graph_def; "
            "[print(hashlib.sha256(graph_def(flat_graph(name, **sizes)[1].ops)).hexdigest()) for name, sizes in SMALL.items()]"
        )
        folder = Path(__file__).parent
        runs = [
            subprocess.run([sys.executable, "-c", code], cwd=folder, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
            for seed in ("1", "2")
        ]
        self.assertEqual([run.returncode for run in runs], [0, 0], runs[0].stderr)
        self.assertEqual(len(runs[0].stdout.split()), len(SMALL))
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        graphs = [flat_graph(name, **sizes)[1].ops for name, sizes in SMALL.items()]
        self.assertTrue(all(op.attributes for ops in graphs for op in ops if op.argument is None))

    def test_what_cannot_be_a_graph_is_refused(self):
        with self.assertRaisesRegex(TraceError, "effect"):
            flatten(lambda x: (jax.debug.print("{x}", x=x), x)[1], {"x": shape(2)})
        with self.assertRaisesRegex(TraceError, "no array of numbers"):
            flatten(lambda k: jax.random.uniform(k, (2,)), {"k": jax.eval_shape(lambda: jax.random.key(0))})
        with self.assertRaisesRegex(TraceError, "does not take these arguments"):
            flatten(lambda x: x @ x, {"x": shape(2, 3)})

    def test_every_model_has_unique_names_layers_and_an_update_beside_each_weight(self):
        for name, sizes in SMALL.items():
            for mode in ("training", "inference"):
                program, flat = flat_graph(name, mode=mode, **sizes)
                with self.subTest(name=name, mode=mode):
                    names = [op.name for op in flat.ops]
                    self.assertEqual(len(set(names)), len(names))
                    self.assertEqual(names, [op.name for op in flat_graph(name, mode=mode, **sizes)[1].ops])
                    self.assertGreater(sum(op.layer is not None for op in flat.ops), 0.9 * len(flat.ops))
                    self.assertTrue(all(ref.op < k for k, op in enumerate(flat.ops) for ref in op.inputs))
                    weights = {k: op for k, op in enumerate(flat.ops) if op.type == "parameter"}
                    arrays = [math.prod(a.shape) * 4 for a in jax.tree.leaves(program.arguments["params"])]
                    self.assertEqual(sum(op.memory_bytes for op in weights.values()), sum(arrays))
                    if mode == "training":
                        for k, op in weights.items():
                            beside = sorted(o.type for o in flat.ops if o.colocated == k and o.equation is None)
                            self.assertEqual(beside, ["state", "state"], op.name)
                            updates = [o for o in flat.ops if o.colocated == k and o.equation is not None]
                            self.assertEqual(len(updates), 3, op.name)


class Costs(unittest.TestCase):
    def one(self, function, *arguments, kind=None):
        """The equation of this type, or the last."""
        flat = flatten(function, {f"a{k}": a for k, a in enumerate(arguments)})
        return [op.equation for op in flat.ops if op.equation and kind in (None, op.type)][-1]

    def test_products_and_convolutions_are_exact(self):
        product = self.one(lambda a, b: jnp.einsum("bik,bkj->bij", a, b), shape(3, 5, 7), shape(3, 7, 11), kind="dot_general")
        self.assertEqual(costs.operations(product), 2 * 3 * 5 * 7 * 11)
        self.assertEqual(costs.bytes_moved(product), 4 * (3 * 5 * 7 + 3 * 7 * 11 + 3 * 5 * 11))
        for groups in (1, 2):
            convolve = lambda x, k: jax.lax.conv_general_dilated(  # noqa: E731
                x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups
            )
            equation = self.one(convolve, shape(2, 9, 9, 4), shape(3, 3, 4 // groups, 6))
            self.assertEqual(costs.operations(equation), 2 * (2 * 7 * 7 * 6) * (3 * 3 * 4 // groups))
            # The compiler counts the same, without knowing our numbers.
            compiled = jax.jit(convolve).lower(shape(2, 9, 9, 4), shape(3, 3, 4 // groups, 6)).compile()
            self.assertEqual(compiled.cost_analysis()["flops"], costs.operations(equation))

    def test_other_operations_count_elements(self):
        x = shape(3, 4)
        for function, operations, moved in (
            (lambda x: jnp.exp(x), 12, 96),
            (lambda x: x.sum(0), 12, 64),
            (lambda x: jnp.cumsum(x, 0), 12, 96),
            (lambda x: x.T, 0, 96),
            (lambda x: x.reshape(12), 0, 0),
            (lambda x: jax.lax.slice(x, (0, 0), (1, 4)), 0, 32),
            (lambda x: jax.lax.scan(lambda s, row: (s + row * s, None), x[0], x)[0], 3 * 8, None),
            (lambda x: jax.lax.cond(x[0, 0] > 0, lambda: x * 2, lambda: x * 2 + 1), 24, None),
        ):
            equation = self.one(function, x)
            self.assertEqual(costs.operations(equation), operations, equation.primitive.name)
            if moved is not None:
                self.assertEqual(costs.bytes_moved(equation), moved, equation.primitive.name)

    def test_a_decoder_has_the_operations_of_its_matrices(self):
        tokens, width, layers, words = 4, 8, 2, 11
        _, flat = flat_graph("gpt2", mode="inference", **SMALL["gpt2"])
        products = sum(costs.operations(op.equation) for op in flat.ops if op.type == "dot_general")
        matrices = layers * (12 * width * width) + words * width
        self.assertEqual(products, 2 * tokens * matrices + layers * 2 * (2 * tokens * tokens * width))

    def test_equations_are_equal_only_if_they_compute_the_same(self):
        key = lambda function, *sizes: self.one(function, *[shape(*s) for s in sizes]).key  # noqa: E731
        self.assertEqual(key(lambda x: x * 2.0, (3,)), key(lambda x: x * 2.0, (3,)))
        self.assertNotEqual(key(lambda x: x * 2.0, (3,)), key(lambda x: x * 3.0, (3,)))
        self.assertNotEqual(key(lambda x: x * 2.0, (3,)), key(lambda x: x * 2.0, (4,)))
        self.assertNotEqual(key(lambda x: x.sum(0), (3, 3)), key(lambda x: x.sum(1), (3, 3)))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(arguments))
        return status, out.getvalue(), err.getvalue()

    def test_a_graph_def_has_these_bytes(self):
        output = Output((2,), np.dtype("float32"))
        ops = [Op("parameter", [], [output], name="p/w"), Op("sub", [Ref(0, 0), Ref(0, 1)], [output], colocated=0, name="s")]
        node = b"\x0a\x03p/w" + b"\x12\x09parameter"
        group = b"\x0a\x0a\x12\x08loc:@p/w"  # AttrValue.list of one string
        attribute = b"\x0a\x06_class" + b"\x12" + bytes([len(group)]) + group
        other = b"\x0a\x01s" + b"\x12\x03sub" + b"\x1a\x03p/w" + b"\x1a\x05p/w:1" + b"\x2a" + bytes([len(attribute)]) + attribute
        self.assertEqual(graph_def(ops), b"\x0a" + bytes([len(node)]) + node + b"\x0a" + bytes([len(other)]) + other)

    def test_a_model_larger_than_memory_is_extracted_without_measuring(self):
        settings = ["layers=1", "width=65536", "heads=64", "length=4096", "vocabulary=1000000", "batch=64"]
        arguments = [word for setting in settings for word in ("--set", setting)]
        status, out, err = self.command("gpt2", "--out", str(self.out), "--analytic", *arguments)
        self.assertEqual((status, out), (0, f"{self.out / 'gpt2'}\n"), err)
        provenance = tomllib.loads((self.out / "gpt2" / "provenance.toml").read_text())
        self.assertGreater(provenance["memory_bytes_total"], 1e12)
        self.assertEqual(provenance["parameters"]["width"], 65536)
        header, *rows = (self.out / "gpt2" / "ops.csv").read_text().splitlines()
        self.assertEqual(header, "name,layer,cpu_seconds,gpu_seconds,memory_bytes,operations,bytes_moved")
        self.assertEqual(len(rows), provenance["nodes"])
        self.assertTrue(all(row.split(",")[2] == "" and row.split(",")[3] != "" for row in rows))

    def test_measured_times_are_in_the_table_and_add_up(self):
        if hasattr(os, "sched_setaffinity"):  # measuring keeps to one core
            self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        status, out, err = self.command("mlp", "--out", str(self.out), "--set", "optimizer=sgd", "--set", "width=64")
        self.assertEqual(status, 0, err)
        provenance = tomllib.loads((self.out / "mlp" / "provenance.toml").read_text())
        rows = [row.split(",") for row in (self.out / "mlp" / "ops.csv").read_text().splitlines()[1:]]
        self.assertAlmostEqual(sum(float(row[2]) for row in rows), provenance["cpu_seconds_total"], 5)
        self.assertGreater(provenance["cpu_seconds_total"], 0)
        self.assertLess(provenance["cpu_seconds_total"], 1)
        self.assertEqual(provenance["model"], "mlp")

    def test_mistakes_give_one_clear_line(self):
        for arguments, message in (
            (["gpt3"], "error: unknown model 'gpt3'; known: convnet, "),
            (["gpt2", "--set", "layer=2"], "error: gpt2 has no parameter 'layer'; it has batch, "),
            (["gpt2", "--set", "mode=train"], "error: gpt2: mode is 'train'; it is one of training, inference"),
            (["gpt2", "--set", "optimizer=lion"], "error: gpt2: optimizer is 'lion'; it is one of adam, sgd"),
            (["gpt2", "--set", "layers=many"], "error: gpt2: layers is a number, not 'many'"),
            (["gpt2", "--set", "layers=-1"], "error: gpt2: layers is at least 1, not -1"),
            (["gpt2", "--set", "mode=3"], "error: gpt2: mode is text, not 3"),
            (["gpt2", "--set", "width=10", "--analytic"], "error: the function does not take these arguments: "),
            (["gpt2", "--traces", "2"], "error: gpt2 is no model in TensorFlow: leave out --whole and --traces"),
            (["nmt", "--analytic"], "error: nmt is a model in TensorFlow, whose costs are measured: leave out --analytic"),
        ):
            status, _, err = self.command(*arguments, "--out", str(self.out))
            self.assertEqual(status, 2, err)
            self.assertIn(message, err.splitlines()[-1])

    def test_a_model_of_ones_own_that_is_none_says_what_it_lacks(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "lacking.py").write_text("width = 8\n", encoding="utf-8")
        Path(folder.name, "empty.py").write_text("def build(width=8):\n    pass\n", encoding="utf-8")
        with mock.patch.dict(os.environ, {"PLACEBENCH_JAX_MODELS": folder.name}):
            for name, message in (("lacking", "lacking.py has no function build"), ("empty", "empty: build returned a NoneType, not a Network")):
                status, _, err = self.command(name, "--analytic", "--out", str(self.out))
                self.assertEqual(status, 2, err)
                self.assertIn(message, err.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
