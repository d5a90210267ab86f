"""Steps with which independent checkers found faults."""

import copy
import dataclasses
import unittest

try:
    import torch
    from torch import nn
except ImportError:
    raise unittest.SkipTest("needs PyTorch") from None

from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from placebench_extract.execute.torch_device import Backend
from placebench_extract.flat import TraceError
from placebench_extract.models import ModelError
from placebench_extract.torch_models import Step
from placebench_extract.torchgraph import costs
from placebench_extract.torchgraph.flatten import flatten

from test_torch_graph import program_of, run_flat, unplaced


class Net(nn.Module):
    """A function of the module and its inputs, with parts."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            elif isinstance(part, nn.Parameter):
                self.register_parameter(name, part)
            else:
                self.register_buffer(name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


OUTSIDE = torch.ones(6)


def rows():
    return torch.randn(4, 6)


def total(module, inputs):
    return sum(part.float().pow(2).mean() for part in flat_of(module(*inputs)))


def flat_of(value):
    return [leaf for part in value for leaf in flat_of(part)] if isinstance(value, (list, tuple)) else [value]


class Cases(unittest.TestCase):
    def tearDown(self):
        torch.set_grad_enabled(True)

    def same(self, build, mode="training"):
        """Executes the graph, every value as it comes from another device, and compares. Answers the graph and the results."""
        torch.set_grad_enabled(True)
        program = program_of(build, mode=mode)
        flat = flatten(program)
        backend = Backend("cpu")
        for op in flat.ops:
            if op.equation is not None:
                backend.compile(op.equation)
        mine, true = run_flat(program, flat, True), unplaced(program, flat)
        torch.set_grad_enabled(True)
        self.assertEqual(mine.keys(), true.keys())
        for name in true:
            self.assertEqual(mine[name].tolist(), true[name].tolist(), name)
        return flat, true

    def infer(self, function, *inputs, **parts):
        return self.same(lambda: Step(Net(function, **{"l": nn.Linear(6, 6), **parts}), inputs or (rows(),)), "inference")

    def test_what_a_checkpoint_computes_again_draws_the_same_again(self):
        def block(module, x):
            return F.dropout(module.l(x).pow(2), 0.5, True)

        def build(is_checkpointed):
            forward = (lambda m, x: checkpoint(block, m, x, use_reentrant=False)) if is_checkpointed else block
            return Step(Net(forward, l=nn.Linear(6, 6)), (torch.ones(4, 6),), total)

        found = {}
        for is_checkpointed in (False, True):
            flat, found[is_checkpointed] = self.same(lambda: build(is_checkpointed))  # noqa: B023
            seeds = [op.equation.seed for op in flat.ops if getattr(op.equation, "seed", None) is not None]
            self.assertEqual(set(seeds), {0})
            self.assertEqual(len(seeds), 2 if is_checkpointed else 1)
        for name in found[True]:
            self.assertEqual(found[True][name].tolist(), found[False][name].tolist(), name)

    def test_noise_that_an_operation_writes_is_there_when_the_backward_pass_reads_it(self):
        flat, _ = self.same(lambda: Step(Net(lambda m, x: F.rrelu(m.l(x), training=True), l=nn.Linear(6, 6)), (rows(),), total))
        makers = {flat.ops[ref.op].equation.type for op in flat.ops if op.equation and "rrelu_with_noise_backward" in op.equation.type
                  for ref in op.inputs if flat.ops[ref.op].equation}
        self.assertTrue(any("rrelu_with_noise" in maker for maker in makers), makers)

    def test_weights_that_cannot_be_copied(self):
        # PyTorch 1.13 says what is wrong, newer ones extract it.
        build = lambda: Step(Net(lambda m, x: m.l(x), l=nn.utils.weight_norm(nn.Linear(6, 6))), (rows(),), total)  # noqa: E731
        try:
            self.same(build)
        except TraceError as error:
            self.assertIn("cannot be copied", str(error))

    def test_a_write_through_a_view_of_memory_with_holes(self):
        def forward(module, x):
            module.held[1].add_(1)
            return module.l(x) + module.held

        flat, true = self.infer(forward, held=torch.zeros(4, 12)[:, :6])
        self.assertEqual(true["buffers/held"].sum(), 6)

    def test_state_that_is_exchanged_and_weights_that_are_written(self):
        def forward(module, x):
            y = module.l(x)
            module.mean = module.mean * 0.9 + y.detach().mean(0)
            with torch.no_grad():
                module.codes.mul_(0.9).add_(y.mean(0))
            return y + module.mean + module.codes

        frozen = lambda: nn.Parameter(torch.ones(6), requires_grad=False)  # noqa: E731
        flat, _ = self.same(lambda: Step(Net(forward, l=nn.Linear(6, 6), mean=torch.zeros(6), codes=frozen()), (rows(),), total))
        self.assertTrue({"buffers/mean", "params/codes"} <= set(flat.result_names))

    def test_slices_without_elements(self):
        self.infer(lambda m, x: (lambda h: torch.cat([h, h[4:], h[:0], h[:, 6:].sum(1, keepdim=True)[:0].expand(0, 6)]))(m.l(x)))

    def test_outputs_that_are_described_and_not_made(self):
        self.same(lambda: Step(nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 6)), (rows(),), total))
        for mode in ("training", "inference"):
            flat, _ = self.same(lambda: Step(Net(lambda m, x: m.r(x)[0], r=nn.LSTM(6, 5)), (torch.randn(3, 2, 6),), total), mode)
            self.assertNotIn("mkldnn_rnn_layer", {op.type for op in flat.ops})

    def test_modules_that_are_copied(self):
        layer = lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)  # noqa: E731
        self.same(lambda: Step(nn.TransformerEncoder(layer(), 2), (torch.randn(2, 5, 8),), total))
        self.infer(lambda m, x: m.l(x) + m.copied(x), copied=copy.deepcopy(nn.Linear(6, 6)))

    def test_comparisons_in_place(self):
        for change in ("gt_", "eq_", "ne_", "logical_not_"):
            arguments = () if change == "logical_not_" else (0,)
            self.infer(lambda m, x: getattr(m.l(x).clone(), change)(*arguments))  # noqa: B023

    def test_operations_that_do_not_take_any_number(self):
        loss = lambda m, i: F.binary_cross_entropy(m(i[0]).sigmoid(), i[1])  # noqa: E731
        self.same(lambda: Step(nn.Linear(6, 6), (rows(), torch.rand(4, 6)), loss))
        self.infer(lambda m, x, i, j: m.l(x)[0].sum() + i // j + i % j, rows(), torch.randint(9, (5,)), torch.randint(1, 9, (5,)))

    def test_random_branches_and_values_are_refused(self):
        @dataclasses.dataclass
        class Answer:
            y: torch.Tensor

        def shared():
            memory = torch.randn(8, 6)
            return Net(lambda m, x: x + m.whole.sum() + m.head.sum(), head=memory[:4], whole=memory)

        for function, fault, message in (
            (lambda m, x: m.l(x) if torch.equal(x, x + 1) else x, TraceError, r"asks for the values of a tensor \(equal\)"),
            (lambda m, x: m.l(x) + torch.randn(6, generator=torch.Generator()), TraceError, "draws from a generator of its own"),
            (lambda m, x: m.l(x) @ x, TraceError, r"fails: RuntimeError: .* \(test_torch_cases.py, line \d+\)"),
            (lambda m, x: m.l(x) + OUTSIDE, TraceError, "reads a tensor that was made outside of it"),
            (lambda m, x: Answer(m.l(x)), ModelError, "answers Answer: let it answer tensors"),
        ):
            with self.assertRaisesRegex(fault, message):
                self.infer(function)
        with self.assertRaisesRegex(TraceError, "buffers/whole and buffers/head are parts of one memory"):
            flatten(program_of(lambda: Step(shared(), (rows(),)), mode="inference"))
        with self.assertRaisesRegex(ModelError, r"the loss is a tensor of shape \[4, 6\]; it has to be one number"):
            flatten(program_of(lambda: Step(nn.Linear(6, 6), (rows(),), lambda m, i: m(*i))))
        with self.assertRaisesRegex(TraceError, "build.. of p fails: ZeroDivisionError"):
            flatten(program_of(lambda: 1 / 0))

    def test_layers_of_what_a_checkpoint_computes_again(self):
        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem, self.head = nn.Linear(6, 6), nn.Linear(6, 6)
                self.layers = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(3))

            def forward(self, x):
                x = self.stem(x).tanh()
                for layer in self.layers:
                    x = checkpoint(layer, x, use_reentrant=False)
                return self.head(x)

        flat = flatten(program_of(lambda: Step(Deep(), (rows(),), total), optimizer="sgd"))
        count = lambda layer: sum(op.layer == layer for op in flat.ops)  # noqa: E731
        self.assertEqual(len({count(f"layers.{k}") for k in (1, 2)}), 1)
        self.assertLess(count("layers.0"), 1.5 * count("layers.1"))

    def test_costs(self):
        def of(function, type, *inputs, **parts):
            program = program_of(lambda: Step(Net(function, **parts), inputs), mode="inference")
            return next(costs.operations(op.equation) for op in flatten(program).ops if op.type.startswith(type))

        square = torch.randn(8, 8)
        self.assertEqual(of(lambda m, a, b: a @ b, "mm", square.to(torch.complex64), square.to(torch.complex64)), 8 * 8**3)
        self.assertEqual(of(lambda m, a, b: torch.addbmm(a, b, b), "addbmm", square, torch.randn(3, 8, 8)), 2 * 3 * 8**3 + 64)
        self.assertEqual(of(lambda m, a, i: a.index_add(0, i, a[:2]), "index_add", square, torch.zeros(2, dtype=torch.long)), 16)
        self.assertEqual(of(lambda m, x: m.n(x), "native_batch_norm", torch.randn(2, 3, 4, 4), n=nn.BatchNorm2d(3).eval()), 4 * 96)
        self.assertEqual(of(lambda m, x: torch.fft.fft(x), "_fft_c2c", torch.randn(4, 16).to(torch.complex64)), 5 * 64 * 4)
        bag = nn.EmbeddingBag(100, 8)
        self.assertEqual(of(lambda m, i: m.e(i), "_embedding_bag", torch.zeros(4, 3, dtype=torch.long), e=bag), 12 * 8)


class HuggingFace(unittest.TestCase):
    def setUp(self):
        try:
            import transformers  # noqa: F401
        except ImportError:
            self.skipTest("needs transformers")

    def test_numbers_that_follow_from_others_are_made_anew(self):
        from placebench_extract import torch_models

        small = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32, "vocab_size": 50, "length": 8}
        flat = flatten(torch_models.build("huggingface:llama", mode="inference", **small))
        sizes = {op.name: op.outputs[0].bytes for op in flat.ops if op.type == "parameter"}
        self.assertEqual(sizes["params/model.layers.0.self_attn.q_proj.weight"], 64 * 64 * 4)
        self.assertEqual(sizes["params/model.layers.0.self_attn.k_proj.weight"], 64 * 64 * 4)
        t5 = {"num_layers": 1, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_heads": 2, "vocab_size": 50, "length": 8}
        for mode in ("training", "inference"):
            layers = {op.layer for op in flatten(torch_models.build("huggingface:t5", mode=mode, **t5)).ops}
            self.assertTrue({"encoder.block.0", "decoder.block.0"} <= layers and "decoder.block.1" not in layers, layers)


if __name__ == "__main__":
    unittest.main()
