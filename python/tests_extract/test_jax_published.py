"""Published models: their weights, their operations against the rule of six, and each primitive against XLA's own analysis."""

import collections
import functools
import math
import unittest

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise unittest.SkipTest("needs JAX") from None

import numpy as np

from placebench_extract import jax_models
from placebench_extract.jax_models import PUBLISHED, fused
from placebench_extract.jaxgraph import costs
from placebench_extract.jaxgraph.flatten import Output, flatten
from placebench_extract.jaxgraph.values import abstract, whole

# Small sizes of the models, for running them and for all their primitives.
SMALL = {
    "gpt2": dict(batch=2, length=8, layers=2, width=16, heads=2, vocabulary=11, fused=1),
    "llama": dict(batch=2, length=8, layers=2, width=16, heads=4, groups=2, inner=24, vocabulary=11, fused=1),
    "mixtral": dict(batch=1, length=16, layers=1, width=16, heads=4, groups=2, inner=24, vocabulary=11, experts=4),
    "vit": dict(batch=2, side=8, layers=1, width=16, heads=2, classes=5, fused=1),
    "latent_diffusion": dict(batch=1, side=8, width=8, levels=2, blocks=1, heads=2, groups=2, text=4, text_width=8),
    "two_tower": dict(batch=8, width=4, most_rows=20, first=8, second=8, answer=4),
}


@functools.cache
def flat_of(name, **overrides):
    program = jax_models.build(name, **overrides)
    return program, flatten(program.function, abstract(program.arguments), program.resident)


class Weights(unittest.TestCase):
    def test_published_models_have_the_published_numbers_of_weights(self):
        # In billions; sources are in published.py.
        known = {"gpt2_xl": 1.558, "llama3_8b": 8.03, "llama3_70b": 70.55, "mixtral_8x7b": 46.70, "vit_l": 0.3043, "stable_diffusion": 0.8595}
        for name, billions in known.items():
            with self.subTest(name):
                found = _weights(jax_models.build(name).arguments["params"])
                self.assertAlmostEqual(found / 1e9, billions, delta=0.003 * billions)

    def test_the_tables_of_the_recommender_have_the_published_rows(self):
        tables = jax_models.build("two_tower_criteo").arguments["tables"]
        rows = sum(table.shape[0] for tower in tables.values() for table in tower.values())
        self.assertEqual(rows, 204184588)

    def test_a_training_step_in_16_bits_holds_14_bytes_a_weight(self):
        program, flat = flat_of("llama", **SMALL["llama"], element="bfloat16", optimizer="fused_adam")
        weights = _weights(program.arguments["params"])
        self.assertEqual(sum(op.memory_bytes for op in flat.ops), 14 * weights + 4)


class Operations(unittest.TestCase):
    def test_training_takes_six_operations_a_weight_and_token(self):
        """Products of weights, and attention with what it computes again backward: within a hundredth of the sum of both."""
        for name in ("gpt2_xl", "llama3_8b", "llama3_70b", "mixtral_8x7b", "vit_l"):
            with self.subTest(name):
                program, flat = flat_of(name)
                p = program.parameters
                trains = p["mode"] == "training"
                tokens = p["batch"] * (p["length"] if "length" in p else (p["side"] // p["patch"]) ** 2)
                length = tokens // p["batch"]
                weights = _multiplying(program, p)
                rule = (6 if trains else 2) * weights * tokens
                # Scores and their use, 4 · width a pair of positions forward; backward computes them again, and four products more.
                attention = (16 if trains else 4) * p["layers"] * p["width"] * length * tokens
                found = sum(costs.operations(op.equation) for op in flat.ops if op.equation and _is_product(op))
                self.assertAlmostEqual(found / (rule + attention), 1.0, delta=0.05)

    def test_nearly_every_operation_has_a_layer(self):
        for name in PUBLISHED:
            _, flat = flat_of(name)
            self.assertGreater(sum(op.layer is not None for op in flat.ops) / len(flat.ops), 0.98, name)


class Compiler(unittest.TestCase):
    def test_products_and_convolutions_count_as_the_compiler_counts(self):
        seen = set()
        for name, sizes in SMALL.items():
            for key, equation in _equations(name, sizes).items():
                if equation.primitive.name not in ("dot_general", "conv_general_dilated") or key in seen:
                    continue
                seen.add(key)
                found = _analysis(equation)
                with self.subTest(key[:200]):
                    if equation.primitive.name == "dot_general":
                        self.assertEqual(costs.operations(equation), found["flops"])
                    else:
                        # The compiler leaves out what the padded edge would multiply.
                        self.assertLessEqual(found["flops"], costs.operations(equation))
                    self.assertEqual(costs.bytes_moved(equation), found["bytes accessed"])
        self.assertGreater(len(seen), 100)

    def test_what_works_element_by_element_counts_and_moves_as_the_compiler_says(self):
        """One operation an element, whether the compiler calls it a flop or a transcendental; each array once."""
        checked, seen = collections.Counter(), set()
        for name, sizes in SMALL.items():
            for key, equation in _equations(name, sizes).items():
                kind = equation.primitive.name
                is_done = key in seen or checked[kind] == 12 or equation.outputs[0].elements == 1
                seen.add(key)
                if is_done or kind not in ("add", "add_any", "sub", "mul", "div", "max", "neg", "exp", "tanh", "logistic", "sqrt", "log", "select_n"):
                    continue
                found = _analysis(equation)
                counted = found.get("flops", 0) + found.get("transcendentals", 0)
                with self.subTest(kind):
                    if kind not in ("logistic", "select_n"):  # one is several to the compiler, the other only moves to us
                        self.assertEqual(costs.operations(equation), counted)
                    # The compiled function: before, what is spread over an array counts as an array. A literal is 4 bytes to it.
                    literals = sum(not isinstance(value, Output) for value in equation.inputs)
                    moved = _analysis(equation, is_compiled=True)["bytes accessed"]
                    self.assertLessEqual(abs(costs.bytes_moved(equation) - moved), 4 * literals)
                checked[kind] += 1
        self.assertGreater(len(checked), 5)


class Fused(unittest.TestCase):
    def test_a_fused_function_is_one_operation_each_way_and_computes_the_same(self):
        def plain(x, y):
            return jnp.tanh(x * y) + y

        made = fused.fused(plain)
        x, y = jnp.linspace(0.0, 1.0, 6).reshape(2, 3), jnp.linspace(1.0, 2.0, 6).reshape(2, 3)
        value, gradients = jax.value_and_grad(lambda x, y: jnp.sum(made(x, y)), (0, 1))(x, y)
        expected, wanted = jax.value_and_grad(lambda x, y: jnp.sum(plain(x, y)), (0, 1))(x, y)
        self.assertAlmostEqual(float(value), float(expected), places=6)
        for gradient, want in zip(gradients, wanted):
            np.testing.assert_allclose(gradient, want, rtol=1e-5)
        flat = flatten(jax.grad(lambda x, y: jnp.sum(made(x, y))), {"x": x, "y": y})
        self.assertEqual([op.type for op in flat.ops if op.type.startswith("fused")], ["fused_plain_backward"])

    def test_fused_models_compute_what_the_plain_ones_do(self):
        for name in ("gpt2", "llama", "vit"):
            losses = []
            for kind in (0, 1):
                program = jax_models.build(name, **{**SMALL[name], "fused": kind}, optimizer="sgd")
                flat = flatten(program.function, abstract(program.arguments), program.resident)
                arguments = whole(program.arguments, flat.argument_names)
                result = program.function(*arguments.values())
                losses.append((float(result["loss"]), jax.tree.leaves(result["params"])))
            self.assertAlmostEqual(losses[0][0], losses[1][0], places=5)
            for plain, made in zip(losses[0][1], losses[1][1]):
                np.testing.assert_allclose(plain, made, rtol=1e-4, atol=1e-6)

    def test_fused_adam_is_adam(self):
        results = []
        for optimizer in ("adam", "fused_adam"):
            program = jax_models.build("llama", **SMALL["llama"], optimizer=optimizer)
            flat = flatten(program.function, abstract(program.arguments), program.resident)
            results.append(jax.tree.leaves(program.function(*whole(program.arguments, flat.argument_names).values())))
        for one, other in zip(*results):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)

    def test_all_models_run_in_both_types(self):
        for name, sizes in SMALL.items():
            for element in ("float32", "bfloat16"):
                program = jax_models.build(name, **sizes, optimizer="fused_adam", element=element)
                flat = flatten(program.function, abstract(program.arguments), program.resident)
                result = jax.jit(program.function)(*whole(program.arguments, flat.argument_names).values())
                self.assertTrue(math.isfinite(float(result["loss"])), (name, element))
                before = {str(leaf.dtype) for leaf in jax.tree.leaves(abstract(program.arguments)["params"])}
                self.assertEqual(before, {element})
                self.assertEqual({str(leaf.dtype) for leaf in jax.tree.leaves(result["params"])}, before)

    def test_experts_take_their_tokens_and_no_more(self):
        program = jax_models.build("mixtral", **{**SMALL["mixtral"], "capacity": 16}, mode="inference")
        flat = flatten(program.function, abstract(program.arguments), program.resident)
        arguments = whole(program.arguments, flat.argument_names)
        given = program.function(*arguments.values())["answer"]
        # All experts for all tokens, weighed by the softmax over the two best.
        want = _mixtral_by_hand(arguments["params"], arguments["inputs"], SMALL["mixtral"])
        np.testing.assert_allclose(given, want, rtol=2e-4, atol=1e-5)


def _mixtral_by_hand(p, inputs, sizes):
    from placebench_extract.jax_models import parts

    heads, groups, width = sizes["heads"], sizes["groups"], sizes["width"]
    x = jnp.asarray(p["embedding"])[inputs["tokens"]]
    w = p["layer_0"]
    n = parts.rms_norm(x, w["norm1"])
    split = lambda name, count: (n @ w[name]).reshape(*x.shape[:2], count, width // heads)  # noqa: E731
    mixed = parts.attend_grouped(split("query", heads), split("key", groups), split("value", groups), 1e6)
    x = x + mixed.reshape(x.shape) @ w["output"]
    n = parts.rms_norm(x, w["norm2"])[0]
    scores = n @ w["router"]
    out = jnp.zeros_like(n)
    for token in range(n.shape[0]):
        best = np.argsort(-np.asarray(scores[token]))[:2]
        share = jax.nn.softmax(scores[token][best])
        for k, e in enumerate(best):
            own = w[f"expert_{e}"]
            done = (parts.silu(n[token] @ own["gate"]) * (n[token] @ own["up"])) @ own["down"]
            out = out.at[token].add(share[k] * done)
    return parts.rms_norm(x + out[None], p["head"]["norm"]) @ p["head"]["output"]


def _weights(tree):
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, jax_models.Array)))


def _multiplying(program, p):
    """Weights that a token is multiplied with: no embedding that is looked up, two experts of all."""
    params = program.arguments["params"]
    weights = _weights(params)
    if program.name == "gpt2_xl":
        return weights - _weights(params["embedding"]["position"])  # the other one is the head, too
    if program.name == "vit_l":
        return weights - _weights(params["embedding"]["position"])
    weights -= _weights(params["embedding"])
    if "experts" in p:
        experts = sum(_weights(params[f"layer_{k}"][f"expert_{e}"]) for k in range(p["layers"]) for e in range(p["experts"]))
        weights -= experts * (1 - 2 / p["experts"])
    return weights


def _is_product(op):
    return op.type == "dot_general" or op.type.startswith("fused_attend")


def _equations(name, sizes):
    program = jax_models.build(name, **sizes, optimizer="adam")
    flat = flatten(program.function, abstract(program.arguments), program.resident)
    return {op.equation.key: op.equation for op in flat.ops if op.equation}


def _analysis(equation, is_compiled=False):
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in equation.arrays]
    lowered = jax.jit(equation.function()).lower(*shapes)
    found = (lowered.compile() if is_compiled else lowered).cost_analysis()
    return found[0] if isinstance(found, list) else found


if __name__ == "__main__":
    unittest.main()
