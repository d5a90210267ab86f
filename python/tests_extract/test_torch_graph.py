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

try:
    import torch
    from torch import nn
except ImportError:
    raise unittest.SkipTest("needs PyTorch") from None

from placebench_extract import torch_models
from placebench_extract.__main__ import main
from placebench_extract.execute.torch_device import Backend
from placebench_extract.flat import Ref, TraceError
from placebench_extract.graphdef import graph_def
from placebench_extract.models import ModelError
from placebench_extract.torch_models import STEP, Program, Step
from placebench_extract.torchgraph import costs
from placebench_extract.torchgraph.calls import SliceCall
from placebench_extract.torchgraph.flatten import flatten
from placebench_extract.torchgraph.seeds import Seeds

from torch_programs import random_program

MLP = str(Path(__file__).parent / "own_models_torch" / "mlp.py")
SMALL = {
    "seq2seq": dict(batch=1, source=4, target=5, layers=2, width=8, heads=2, vocabulary=11),
    "graph_network": dict(nodes=10, edges=30, features=6, layers=2, width=8, heads=2, classes=3),
    "detector": dict(batch=2, side=64, width=8, pyramid=8, classes=3),
    MLP: {},
}


def program_of(build, **step):
    """A step of what a function builds."""
    return Program("p", "", {**STEP, **step}, build)


def run_flat(program, flat, moves=False):
    """The graph's results, operation by operation. With `moves` each value travels as to another device."""
    backend = Backend("cpu")
    values = backend.arguments(program, flat, range(len(flat.ops)))
    read = {(ref.op, ref.port) for op in flat.ops for ref in op.inputs} | {(ref.op, ref.port) for ref in flat.results if isinstance(ref, Ref)}
    found = []
    for number, op in enumerate(flat.ops):
        if op.equation is None:
            outputs = (values[number],)
        else:
            outputs = op.equation.function(torch.device("cpu"))(*[found[ref.op][ref.port] for ref in op.inputs])
        outputs = list(outputs)
        for port, (output, described) in enumerate(zip(outputs, op.outputs, strict=True)):
            if (number, port) not in read:
                continue  # what a batch norm leaves empty in inference
            if moves:
                outputs[port] = output = backend.from_bytes([backend.to_bytes(output).clone()], described)
            assert (tuple(output.shape), output.stride(), output.dtype) == (described.shape, described.strides, described.dtype), op.name
        found.append(outputs)
    return {
        name: backend.result(ref, found[ref.op][ref.port])
        for name, ref in zip(flat.result_names, flat.results)
        if isinstance(ref, Ref)
    }


def unplaced(program, flat):
    return dict(zip(flat.result_names, Backend("cpu").reference(program, flat)))


class Tracing(unittest.TestCase):
    def tearDown(self):
        torch.set_grad_enabled(True)

    def assert_same(self, program, flat, moves):
        mine, true = run_flat(program, flat, moves), unplaced(program, flat)
        torch.set_grad_enabled(True)
        self.assertEqual(mine.keys(), true.keys())
        for name in true:
            self.assertEqual(mine[name].dtype, true[name].dtype)
            self.assertEqual(mine[name].tolist(), true[name].tolist(), name)

    def test_a_tiny_step_gives_this_graph(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(4, 3, bias=False), nn.Linear(2, 2, bias=False)])

            def forward(self, x):
                unused = self.layers[0](x).sin()  # noqa: F841
                return self.layers[1](self.layers[0](x).narrow(1, 0, 2).tanh())

        loss = lambda module, inputs: module(inputs["x"]).sum()  # noqa: E731
        flat = flatten(program_of(lambda: Step(Net(), {"x": torch.ones(5, 4)}, loss), optimizer="sgd"))
        found = [
            (op.name, [(r.op, r.port) for r in op.inputs], [o.bytes for o in op.outputs], op.colocated, op.memory_bytes) for op in flat.ops
        ]
        self.assertEqual(found, [
            ("params/layers.0.weight", [], [48], None, 48),
            ("params/layers.1.weight", [], [16], None, 16),
            ("inputs/x", [], [80], None, 0),
            ("layers.0/mm_0", [(2, 0), (0, 0)], [60], None, 0),
            ("layers.0/slice_0", [(3, 0)], [40], None, 0),
            ("layers.1/tanh_0", [(4, 0)], [40], None, 0),
            ("layers.1/mm_0", [(5, 0), (1, 0)], [40], None, 0),
            ("layers.1/sum_0", [(6, 0)], [4], None, 0),
            ("layers.1/ones_like_0", [(7, 0)], [4], None, 0),
            ("layers.1/mm_1", [(8, 0), (5, 0)], [16], None, 0),
            ("layers.1/mm_2", [(8, 0), (1, 0)], [40], None, 0),
            ("layers.1/tanh_backward_0", [(10, 0), (5, 0)], [40], None, 0),
            ("layers.1/slice_backward_0", [(11, 0)], [60], None, 0),
            ("layers.0/mm_1", [(12, 0), (2, 0)], [48], None, 0),
            ("layers.0/mul_0", [(13, 0)], [48], None, 0),
            ("layers.0/sub_0", [(0, 0), (14, 0)], [48], 0, 0),
            ("layers.1/mul_0", [(9, 0)], [16], None, 0),
            ("layers.1/sub_0", [(1, 0), (16, 0)], [16], 1, 0),
        ])  # fmt: skip
        self.assertEqual(flat.result_names, ["loss", "params/layers.0.weight", "params/layers.1.weight"])

    def test_the_graph_computes_what_the_step_computes(self):
        element = "bfloat16" if int(torch.__version__.split(".")[0]) > 1 else "float32"
        for name, sizes in SMALL.items():
            for settings in ({}, {"mode": "inference"}, {"optimizer": "sgd", "element": element}):
                program = torch_models.build(name, **sizes, **settings)
                flat = flatten(program)
                with self.subTest(name=name, **settings):
                    for moves in (False, True):
                        if settings.get("element") and not moves:
                            continue
                        self.assert_same(program, flat, moves)

    def test_views_and_writes_through_views_mean_what_they_mean_in_pytorch(self):
        kinds = set()
        for seed in range(150):
            program = random_program(seed)
            flat = flatten(program)
            kinds |= {op.type for op in flat.ops}
            with self.subTest(seed=seed):
                self.assert_same(program, flat, moves=seed % 2 == 0)
        self.assertTrue({"slice", "select", "copy_", "mul_", "add", "clamp"} <= kinds, kinds)

    def test_it_sees_what_make_fx_sees(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        x = torch.randn(2, 3, 8)

        def step(x):
            loss = model(x).pow(2).sum()
            return [loss.detach(), *torch.autograd.grad(loss, list(model.parameters()))]

        traced = make_fx(step)(x)
        views = "view t transpose _unsafe_view _reshape_alias detach alias expand permute unsqueeze squeeze select slice split".split()
        name = lambda node: node.target._schema.name.partition("::")[2]  # noqa: E731
        theirs = sorted(name(node) for node in traced.graph.nodes if node.op == "call_function" and hasattr(node.target, "_schema"))
        theirs = [name for name in theirs if name not in views]
        loss = lambda module, inputs: module(inputs["x"]).pow(2).sum()  # noqa: E731
        flat = flatten(program_of(lambda: Step(model, {"x": x}, loss), optimizer="sgd"))
        mine = sorted(op.type for op in flat.ops if op.equation and not isinstance(op.equation, SliceCall))
        updates = ["mul", "sub"] * len(list(model.parameters()))
        for update in updates:
            mine.remove(update)
        self.assertEqual(mine, theirs)

    def test_layers_are_paths_of_modules_forward_and_backward(self):
        _, flat = torch_models.build("seq2seq", **SMALL["seq2seq"]), flatten(torch_models.build("seq2seq", **SMALL["seq2seq"]))
        layers = {op.layer for op in flat.ops}
        self.assertTrue({"encoder.0", "encoder.1", "decoder.0", "decoder.1", "head", "words"} <= layers, layers)
        self.assertGreater(sum(op.layer is not None for op in flat.ops), 0.95 * len(flat.ops))
        for part, softmaxes in (("encoder", 1), ("decoder", 2)):
            for k in (0, 1):
                types = [op.type for op in flat.ops if op.layer == f"{part}.{k}"]
                self.assertEqual((types.count("_softmax"), types.count("_softmax_backward_data")), (softmaxes, softmaxes))

    def test_every_model_has_unique_names_and_an_update_beside_each_weight(self):
        for name, sizes in SMALL.items():
            flat = flatten(torch_models.build(name, **sizes))
            with self.subTest(name=name):
                names = [op.name for op in flat.ops]
                self.assertEqual(len(set(names)), len(names))
                self.assertTrue(all(ref.op < k for k, op in enumerate(flat.ops) for ref in op.inputs))
                for k, op in enumerate(flat.ops):
                    if op.type == "parameter":
                        beside = sorted(o.type for o in flat.ops if o.colocated == k and o.equation is None)
                        self.assertEqual(beside, ["state", "state"], op.name)
                        self.assertEqual(sum(o.colocated == k and o.equation is not None for o in flat.ops), 3, op.name)

    def test_running_means_are_state_that_a_step_replaces(self):
        flat = flatten(torch_models.build(MLP))
        self.assertTrue({"buffers/1.running_mean", "buffers/1.running_var", "buffers/1.num_batches_tracked"} <= set(flat.result_names))
        self.assertNotIn("buffers/1.running_mean", flatten(torch_models.build(MLP, mode="inference")).result_names)

    def test_another_process_writes_the_same_bytes(self):
        code = (
            "import hashlib; from test_torch_graph import SMALL, flatten, graph_def, torch_models; "
            "[print(hashlib.sha256(graph_def(flatten(torch_models.build(name, **sizes)).ops)).hexdigest()) for name, sizes in SMALL.items()]"
        )
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], cwd=Path(__file__).parent, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
            )
            for seed in ("1", "2")
        ]
        self.assertEqual([run.returncode for run in runs], [0, 0], runs[0].stderr)
        self.assertEqual(len(runs[0].stdout.split()), len(SMALL))
        self.assertEqual(runs[0].stdout, runs[1].stdout)

    def test_random_numbers_are_those_of_the_unplaced_step_and_differ_from_each_other(self):
        class Noise(nn.Module):
            def forward(self, x):
                return x + torch.rand(4), x + torch.rand(4), nn.functional.dropout(x, 0.5)

        program = program_of(lambda: Step(Noise(), (torch.zeros(4),)), mode="inference")
        flat = flatten(program)
        self.assert_same(program, flat, False)
        first, second, _ = unplaced(program, flat).values()
        self.assertNotEqual(first.tolist(), second.tolist())
        self.assertEqual(len({op.attributes for op in flat.ops if op.type == "rand"}), 2)

    def test_what_cannot_be_a_graph_is_refused(self):
        class Asks(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(2, 2)

            def forward(self, x):
                return self.linear(x) if x.sum() > 0 else x

        class Keeps(nn.Module):
            def __init__(self):
                super().__init__()
                self.kept = torch.randn(2)

            def forward(self, x):
                return x + self.kept

        for module, message in (
            (Asks, r"the step asks for the values of a tensor \(_local_scalar_dense\)"),
            (Keeps, "reads a tensor that is no parameter, buffer or input.*register it as a buffer"),
        ):
            with self.assertRaisesRegex(TraceError, message):
                flatten(program_of(lambda: Step(module(), (torch.ones(2),)), mode="inference"))  # noqa: B023
        with self.assertRaisesRegex(ModelError, "build.. returned int; it has to return placebench_extract.torch_models.Step"):
            flatten(program_of(lambda: 3))
        with self.assertRaisesRegex(ModelError, "has no loss: give its Step one, or set mode=inference"):
            flatten(program_of(lambda: Step(nn.Linear(2, 2), (torch.ones(2),))))


class Costs(unittest.TestCase):
    def calls(self, module, *inputs, **step):
        loss = lambda module, inputs: module(*inputs).sum()  # noqa: E731
        program = program_of(lambda: Step(module, inputs, loss), **{"optimizer": "sgd", **step})
        return {op.name.rpartition("/")[2]: op.equation for op in flatten(program).ops if op.equation}

    def test_products_and_convolutions_are_exact(self):
        calls = self.calls(nn.Linear(7, 11), torch.randn(3, 7, requires_grad=True), mode="inference")
        self.assertEqual(costs.operations(calls["addmm_0"]), 2 * 3 * 7 * 11 + 3 * 11)
        self.assertEqual(costs.bytes_moved(calls["addmm_0"]), 4 * (11 + 3 * 7 + 7 * 11 + 3 * 11))
        for groups, transposed in ((1, False), (2, False), (1, True)):
            make = nn.ConvTranspose2d if transposed else nn.Conv2d
            calls = self.calls(make(4, 6, 3, groups=groups, bias=False), torch.randn(2, 4, 9, 9))
            once = 2 * 9 * (4 * 6 // groups) * 2 * (81 if transposed else 49)
            self.assertEqual(costs.operations(calls["convolution_0"]), once)
            self.assertEqual(costs.operations(calls["convolution_backward_0"]), once)  # the input's gradient is not asked for

    def test_pytorch_counts_the_same(self):
        try:
            from torch.utils.flop_counter import FlopCounterMode
        except ImportError:
            self.skipTest("needs a newer PyTorch")
        for name, sizes in SMALL.items():
            program = torch_models.build(name, **sizes)
            matrices = ("mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward")
            calls = [op.equation for op in flatten(program).ops if op.type in matrices]
            added = sum(math.prod(call.outputs[0].shape) for call in calls if call.type in ("addmm", "baddbmm"))
            biases = sum(costs._shape(call, 0)[0] * math.prod(costs._shape(call, 0)[1:]) for call in calls
                         if call.type == "convolution_backward" and call.template[0][10][2])
            biases += sum(math.prod(call.outputs[0].shape) for call in calls if call.type == "convolution" and len(call.arrays) > 2)
            counter = FlopCounterMode(display=False)
            with counter:
                program.step(program.make(program.begin()))
            self.assertEqual(sum(map(costs.operations, calls)) - added - biases, counter.get_total_flops(), name)

    def test_other_operations(self):
        x = torch.randn(3, 4)
        for function, name, operations, moved in (
            (lambda x: x.exp(), "exp", 12, 96),
            (lambda x: x.sum(0), "sum", 12, 64),
            (lambda x: x.cumsum(0), "cumsum", 12, 96),
            (lambda x: x.softmax(1), "_softmax", 60, 96),
            (lambda x: x.t().clone(), "clone", 0, 96),
            (lambda x: x[:, 1].exp(), "select", 0, 0),
            (lambda x: x[:, 1].exp(), "exp", 3, 24),
            (lambda x: x.unsqueeze(0).expand(5, 3, 4) + 1, "add", 60, 48 + 240),
            (lambda x: nn.functional.max_pool2d(x[None], 2), "max_pool2d_with_indices", 8, None),
            (lambda x: x.index_select(0, torch.zeros(2, dtype=torch.long)), "index_select", 0, 2 * 32 + 16),
        ):
            class Net(nn.Module):
                def forward(self, x):
                    return function(x)  # noqa: B023

            call = self.calls(Net(), x, mode="inference")[f"{name}_0"]
            self.assertEqual(costs.operations(call), operations, name)
            if moved is not None:
                self.assertEqual(costs.bytes_moved(call), moved, name)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*arguments, "--out", str(self.out)])
        return status, out.getvalue(), err.getvalue()

    def test_a_model_larger_than_memory_is_extracted_without_measuring(self):
        sizes = ["layers=1", "width=65536", "heads=64", "source=4096", "target=4096", "vocabulary=1000000", "batch=64"]
        status, out, err = self.command("seq2seq", "--analytic", *[word for size in sizes for word in ("--set", size)])
        self.assertEqual((status, out), (0, f"{self.out / 'seq2seq'}\n"), err)
        provenance = tomllib.loads((self.out / "seq2seq" / "provenance.toml").read_text())
        self.assertGreater(provenance["memory_bytes_total"], 1e12)
        header, *rows = (self.out / "seq2seq" / "ops.csv").read_text().splitlines()
        self.assertEqual(header, "name,layer,cpu_seconds,gpu_seconds,memory_bytes,operations,bytes_moved")
        self.assertEqual(len(rows), provenance["nodes"])
        self.assertTrue(all(row.split(",")[2] == "" and row.split(",")[3] != "" for row in rows))

    def test_a_model_of_ones_own_is_measured(self):
        if hasattr(os, "sched_setaffinity"):  # measuring keeps to one core
            self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        status, out, err = self.command(MLP, "--set", "width=64")
        self.assertEqual((status, out), (0, f"{self.out / 'mlp'}\n"), err)
        provenance = tomllib.loads((self.out / "mlp" / "provenance.toml").read_text())
        rows = [row.split(",") for row in (self.out / "mlp" / "ops.csv").read_text().splitlines()[1:]]
        self.assertAlmostEqual(sum(float(row[2]) for row in rows), provenance["cpu_seconds_total"], 5)
        self.assertGreater(provenance["cpu_seconds_total"], 0)
        self.assertEqual((provenance["model"], provenance["parameters"]["width"]), (MLP, 64))

    def test_mistakes_give_one_clear_line(self):
        lacking, other = str(self.out / "lacking.py"), str(self.out / "mlp.py")
        (self.out / "mlp.py").write_text(Path(MLP).read_text())
        self.assertEqual(self.command(MLP, "--analytic")[0], 0)
        broken, empty = self.out / "broken.py", self.out / "empty.py"
        broken.write_text("import nothing_of_that_name\n")
        empty.write_text("x = 1\n")
        for arguments, message in (
            ([lacking], f"error: there is no file {lacking}"),
            ([":build"], "error: unknown model ':build'; known: "),
            ([MLP, "--set", "batch=1.5"], f"error: {MLP}: batch is a whole number, not 1.5"),
            ([other], f"error: {self.out / 'mlp'} has the graph of {MLP}: choose another --out for {other}"),
            ([str(broken)], f"error: {broken} cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
            ([str(empty)], f"error: {empty} has no function build()"),
            ([f"{empty}:x"], f"error: {empty} has no function x()"),
            (["no_such_module:build"], "error: the module no_such_module cannot be imported"),
            ([MLP, "--set", "layers=2"], f"error: {MLP} has no parameter 'layers'; it has batch, width, "),
            (["seq2seq", "--set", "mode=train"], "error: seq2seq: mode is 'train'; it is one of training, inference"),
            (["seq2seq", "--set", "optimizer=lion"], "error: seq2seq: optimizer is 'lion'; it is one of adam, sgd"),
            (["seq2seq", "--set", "element=float8"], "error: seq2seq: element is 'float8'; it is one of float32, bfloat16"),
            (["seq2seq", "--traces", "2"], "error: seq2seq is no model in TensorFlow: leave out --whole and --traces"),
        ):
            status, _, err = self.command(*arguments, "--analytic")
            self.assertEqual(status, 2, err)
            self.assertIn(message, err.splitlines()[-1])


class HuggingFace(unittest.TestCase):
    def setUp(self):
        try:
            import transformers  # noqa: F401
        except ImportError:
            self.skipTest("needs transformers")

    def test_a_configuration_is_enough(self):
        small = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50, "batch": 1, "length": 8}
        for name, changed in (("bert", small), ("llama", {**small, "num_key_value_heads": 1})):
            program = torch_models.build(f"huggingface:{name}", **changed)
            flat = flatten(program)
            mine, true = run_flat(program, flat, True), unplaced(program, flat)
            torch.set_grad_enabled(True)
            self.assertTrue(all(mine[key].tolist() == true[key].tolist() for key in true), name)
            layers = {op.layer for op in flat.ops}
            self.assertTrue(any(str(layer).endswith("1") for layer in layers), layers)

    def test_mistakes(self):
        for name, overrides, message in (
            ("huggingface:berta", {}, "berta is no file and no type of model that transformers"),
            ("huggingface:bert", {"task": "images"}, "huggingface:bert cannot do the task 'images'"),
        ):
            with self.assertRaisesRegex(ModelError, message):
                flatten(torch_models.build(name, **overrides))


if __name__ == "__main__":
    unittest.main()
