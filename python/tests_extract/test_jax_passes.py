"""Passes change graphs and not what they compute: the graph after a pass is executed and compared with the step."""

import functools
import json
import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

try:
    import jax
except ImportError:
    raise unittest.SkipTest("needs JAX") from None

import numpy as np

try:
    import placebench
except ImportError:
    placebench = None

from placebench_extract import jax_models
from placebench_extract.jaxgraph import values
from placebench_extract.jaxgraph.extract import contents
from placebench_extract.jaxgraph.flatten import Output, Ref
from placebench_extract.jaxgraph.passed import PassedError, Step, execute, read, topological_order

SIZES = dict(batch=8, length=4, layers=1, width=8, heads=2, vocabulary=11)
# Each expert has room for all tokens: one that skips an expert skips another in a smaller batch.
EXPERTS = dict(groups=1, experts=3, inner=12, capacity=32, optimizer="sgd")
MODELS = {"gpt2": SIZES, "moe": {**SIZES, **EXPERTS}}
INSTALL = "the package placebench is missing for this Python: pip install --no-deps target/wheels/placebench-*.whl"
RELATIVE = 1e-4  # of what a step changes
ROUNDING = 2.0**-23  # of what it changes
# Softmax does not see what is added to all scores: the gradient of the bias of keys is 0 but for rounding, 1e-13 here.
NOISE = 1e-12


# A model of one's own, whose loss is one of each example: rows of two tables, and how well they fit each other.
RATINGS = dict(batch=32, users=7, items=41, width=4)
RATINGS_MODEL = """
import jax
import jax.numpy as jnp

from . import Network, integers, weight
from .two_tower import Tables


def build(batch=32, users=7, items=41, width=4):
    rows = {"users": users, "items": items}
    tables = {name: weight(count, width, scale=1.0) for name, count in rows.items()}
    inputs = {"rows": {name: integers(batch, below=count) for name, count in rows.items()}}
    inputs["rating"] = integers(batch, below=5)
    params = {"kernel": weight(width, width, scale=1.0)}

    def embed(tables, inputs):
        return {name: tables[name].at[inputs["rows"][name]].get(mode="promise_in_bounds") for name in rows}

    def scores(p, embedded):
        return jnp.sum(jnp.tanh(embedded["users"] @ p["kernel"]) * embedded["items"], -1)

    def loss(p, embedded, inputs):
        return jnp.mean((scores(p, embedded) - inputs["rating"]) ** 2)

    def change(tables, gradients, inputs):
        moved = lambda name: tables[name].at[inputs["rows"][name]].add(-0.1 * gradients[name], mode="promise_in_bounds")
        return {name: moved(name) for name in rows}

    return Network(params, inputs, None, None, Tables(tables, embed, scores, loss, change))
"""


def setUpModule():
    if placebench is None:
        raise AssertionError(INSTALL)
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    (Path(folder.name) / "ratings.py").write_text(RATINGS_MODEL)
    patched = mock.patch.dict(os.environ, {jax_models.OWN_MODELS: folder.name})
    patched.start()
    unittest.addModuleCleanup(patched.stop)


def graph_of(program):
    """The graph that placebench reads from the folder of a step."""
    with tempfile.TemporaryDirectory() as folder:
        for file, content in contents(program, analytic=True).items():
            (Path(folder) / file).write_bytes(content)
        return placebench.Graph.load(folder)


class Model:
    """A small model: its step, the graph of its folder, and what the step returns."""

    def __init__(self, name, settings):
        self.name, self.settings = name, settings
        self.program = jax_models.build(name, **settings)
        self.step, self.graph = Step(self.program), graph_of(self.program)
        self.results = execute(self.step.nodes(), self.step).results
        self.before = {op.name: self.step.argument(op) for op in self.step.flat.ops if op.argument is not None}

    @functools.cache
    def part(self, m):
        """The step with an m-th of the batch."""
        smaller = {name: self.settings[name] // m for name in ("batch", "capacity") if name in self.settings}
        return Step(jax_models.build(self.name, **{**self.settings, **smaller}))

    def after(self, *passes):
        graph, origins, _ = self.graph.passed(*passes)
        return read(graph, origins)

    def largest_error(self, results):
        """The largest difference from the step's results, as a multiple of what is tolerated, and of which result."""
        largest = (0.0, "")
        for name, mine in results.items():
            true, before = self.results[name], np.asarray(self.before.get(name, 0.0))
            norm = lambda array: float(np.linalg.norm(np.asarray(array, np.float64)))  # noqa: E731
            apart = norm(mine - true) / (RELATIVE * norm(true - before) + ROUNDING * norm(before) + NOISE)
            largest = max(largest, (apart if np.isfinite(apart) else np.inf, name))
        return largest


@functools.cache
def model(name):
    return Model(name, MODELS[name])


class Passes(unittest.TestCase):
    def assert_same_bits(self, name, results):
        for result, mine in results.items():
            true = model(name).results[result]
            self.assertEqual((mine.dtype, mine.shape, mine.tobytes()), (true.dtype, true.shape, true.tobytes()), result)

    def assert_same(self, name, execution):
        self.assertEqual(set(execution.results), set(model(name).results))
        error = model(name).largest_error(execution.results)
        self.assertLess(error[0], 1, error[1])

    def test_the_step_op_by_op_computes_what_the_function_computes(self):
        for name in MODELS:
            program, flat = model(name).program, model(name).step.flat
            arguments = values.whole(program.arguments, flat.argument_names)
            true = dict(zip(flat.result_names, jax.tree.leaves(jax.jit(program.function)(*arguments.values()))))
            self.assertEqual(set(true), set(model(name).results))
            self.assertLess(model(name).largest_error({key: np.asarray(value) for key, value in true.items()})[0], 1)

    def test_prune_keeps_what_is_fetched_bit_by_bit(self):
        for name in MODELS:
            flat, everything = model(name).step.flat, set(model(name).results)
            loss = next(flat.ops[ref.op].name for key, ref in zip(flat.result_names, flat.results) if key == "loss")
            for fetch, found in (("prune", everything - {"loss"}), (f"prune({loss})", {"loss"})):
                nodes = model(name).after(fetch)
                with self.subTest(name=name, fetch=fetch):
                    self.assertLess(len(nodes), len(flat.ops))
                    results = execute(nodes, model(name).step).results
                    self.assertEqual(set(results), found)
                    self.assert_same_bits(name, results)

    def test_recompute_computes_again_the_same_bits(self):
        for name in MODELS:
            nodes = model(name).after("recompute(budget=sqrt)")
            again = [k for k, node in enumerate(nodes) if node.name.endswith("/again")]
            self.assertGreater(len(again), 30)
            self.assertEqual(len(nodes), len(model(name).step.flat.ops) + len(again))
            execution = execute(nodes, model(name).step)
            self.assertEqual(set(execution.results), set(model(name).results))
            self.assertTrue(set(again) <= set(execution.order))
            self.assert_same_bits(name, execution.results)
            # The backward pass takes the copies: it notices, and the loss does not, a product with another weight.
            errors = []
            for number in again:
                inputs = [self.another_weight(name, nodes, ref) for ref in nodes[number].inputs]
                if nodes[number].type == "dot_general" and inputs != nodes[number].inputs:
                    changed = [*nodes[:number], replace(nodes[number], inputs=inputs), *nodes[number + 1:]]
                    results = execute(changed, model(name).step).results
                    self.assertEqual(results["loss"], model(name).results["loss"])
                    errors.append(model(name).largest_error(results)[0])
            self.assertGreater(max(errors), 100)

    def another_weight(self, name, nodes, ref):
        """Another weight of the same shape, if this is one and there is another."""
        ops = model(name).step.flat.ops
        mine = ops[nodes[ref.op].origins[0]]
        alike = (k for k, node in enumerate(nodes) if k != ref.op and node.type == mine.type == "parameter")
        return next((Ref(k, 0) for k in alike if ops[nodes[k].origins[0]].outputs == mine.outputs), ref)

    def test_micro_batches_add_up_to_the_step(self):
        for name in MODELS:
            for passes in (["microbatch(2)"], ["microbatch(4)"], ["microbatch(m=4,sum=once)"]):
                m = 2 if passes == ["microbatch(2)"] else 4
                nodes = model(name).after(*passes)
                with self.subTest(name=name, passes=passes):
                    execution = execute(nodes, model(name).step, model(name).part(m))
                    self.assert_same(name, execution)
                    weights = sum(op.type == "parameter" for op in model(name).step.flat.ops)
                    self.assertGreaterEqual(sum(node.type == "AddN" and not node.origins for node in nodes), weights)
                    self.check_resized(name, execution)

    def check_resized(self, name, execution):
        """What is done once and is as long as the batch takes no inputs."""
        flat = model(name).step.flat
        takes = set()
        for k, op in enumerate(flat.ops):
            if op.type == "input" or any(ref.op in takes for ref in op.inputs):
                takes.add(k)
        self.assertTrue(execution.resized)
        self.assertEqual({flat.ops[k].name for k in takes} & set(execution.resized), set())

    def test_the_divisor_of_the_mean_is_the_only_number_that_depends_on_the_batch(self):
        for name in MODELS:
            found = {}
            for mine, theirs in zip(model(name).step.flat.ops, model(name).part(4).flat.ops):
                for large, small in zip(mine.equation.inputs, theirs.equation.inputs) if mine.equation else ():
                    if not isinstance(large, Output) and np.asarray(large) != np.asarray(small):
                        found.setdefault((mine.layer, mine.type), []).append((float(large), float(small)))
            # Forward, where the mean is made, and backward, where its gradient is.
            self.assertEqual(found, {("head", "div"): [(32.0, 8.0)] * 2})

    def test_rows_of_tables_stand_one_behind_the_other(self):
        ratings = Model("ratings", RATINGS)
        single, again = ["microbatch(2)"], ["recompute", "microbatch(2)"]
        for m, passes in ((2, single), (4, ["microbatch(4)"]), (4, ["microbatch(m=4,sum=once)"]), (2, again)):
            nodes = ratings.after(*passes)
            execution = execute(nodes, ratings.step, ratings.part(m))
            with self.subTest(passes=passes):
                self.assertEqual(set(execution.results), set(ratings.results))
                error = ratings.largest_error(execution.results)
                self.assertLess(error[0], 1, error[1])
                self.check_rows(nodes, tables=2)

    def test_two_towers_join_rows_and_sum_nothing_else_than_gradients_of_weights(self):
        """Their loss is a softmax over the items of the batch, which no division keeps: edges are looked at instead."""
        towers = Model("two_tower", dict(batch=32, most_rows=30, width=4, first=6, second=5, answer=4))
        for m in (2, 4):
            nodes = towers.after(f"microbatch({m})")
            self.check_rows(nodes, tables=26)
            sums = [node for node in nodes if node.type == "AddN" and not node.origins]
            weights = sum(op.type == "parameter" for op in towers.step.flat.ops)
            self.assertEqual((len(sums), weights), (weights * (m - 1), 12))

    def check_rows(self, nodes, tables):
        """Each table takes numbers of rows and their gradients, of all micro-batches in their order."""
        joins = {k for k, node in enumerate(nodes) if node.type == "concatenate" and not node.origins}
        takers = [node for node in nodes if any(ref.op in joins for ref in node.inputs)]
        self.assertEqual([node.type for node in takers], ["scatter-add"] * tables)
        self.assertEqual([sum(ref.op in joins for ref in node.inputs) for node in takers], [2] * tables)
        self.assertEqual(len(joins), 2 * tables)

    def test_chains_compute_the_same(self):
        # Prune fetches the updates of weights: the loss is left out.
        for passes in (["prune", "microbatch(2)", "recompute"], ["recompute", "microbatch(2)", "prune"]):
            execution = execute(model("gpt2").after(*passes), model("gpt2").step, model("gpt2").part(2))
            with self.subTest(passes=passes):
                self.assertEqual(set(execution.results) | {"loss"}, set(model("gpt2").results))
                self.assertLess(model("gpt2").largest_error(execution.results)[0], 1)

    def test_the_answers_of_an_inference_stand_one_behind_the_other(self):
        inference = Model("gpt2", {**SIZES, "mode": "inference"})
        execution = execute(inference.after("microbatch(4)"), inference.step, inference.part(4))
        self.assertEqual(execution.results["answer"].shape, inference.results["answer"].shape)
        self.assertLess(inference.largest_error(execution.results)[0], 1)

    def test_a_placed_graph_computes_the_same_in_the_order_of_its_schedule(self):
        graph, origins, _ = model("gpt2").graph.passed("microbatch(2)", "recompute")
        nodes = read(graph, origins)
        cluster = placebench.Cluster.uniform(2, speed=1e9, rate=1e12)
        placed = placebench.place(graph, cluster, "heft", memory="unlimited")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            placed.save_trace(path)
            events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
        position = {op: k for k, op in enumerate(topological_order(nodes))}
        begin = {event["args"]["op"]: event["ts"] for event in events if event["cat"] == "op"}
        order = sorted(position, key=lambda op: (begin[op], position[op]))
        self.assertNotEqual(order, list(position))
        execution = execute(nodes, model("gpt2").step, model("gpt2").part(2), order, placed.placement)
        self.assert_same("gpt2", execution)
        devices = {device: k for k, device in enumerate(cluster.devices)}
        sent = set()
        for event in events:
            if event["cat"] == "transfer" and event["args"]["bytes"]:
                port = event["name"].split(" → ")[0].rsplit(":", 1)[1]
                sent.add((event["args"]["op"], int(port), devices[event["args"]["to"]]))
        self.assertGreater(len(sent), 10)
        self.assertEqual(execution.moved, sent)


class Mistakes(unittest.TestCase):
    """What is wrong in a graph is found."""

    def setUp(self):
        self.model = model("gpt2")
        self.nodes = self.model.after("microbatch(2)")
        self.number = {node.name: k for k, node in enumerate(self.nodes)}

    def results(self, changed):
        nodes = list(self.nodes)
        for number, inputs in changed.items():
            nodes[number] = replace(nodes[number], inputs=inputs)
        return execute(nodes, self.model.step, self.model.part(2)).results

    def error(self, changed):
        return self.model.largest_error(self.results(changed))[0]

    def test_a_gradient_that_is_left_out(self):
        true, unnoticed, concerned = self.results({}), set(), []
        for number, node in enumerate(self.nodes):
            if not node.origins:
                found = self.results({number: node.inputs[:1]})
                # It changes a weight and its state: params/…, state/mean/…, state/variance/….
                names = [key for key in found if found[key].tobytes() != true[key].tobytes()]
                weights = {key.split("/", 1 if key.startswith("params/") else 2)[-1] for key in names}
                self.assertEqual(len(weights), 1)
                concerned += weights
                unnoticed |= weights if self.model.largest_error(found)[0] < 100 else set()
        weights = {name.split("/", 1)[1] for name in self.model.before if name.startswith("params/")}
        self.assertEqual(sorted(concerned), sorted(weights))
        self.assertEqual(unnoticed, {"layer_0/key_bias"})  # whose gradient is 0

    def test_a_gradient_that_is_added_twice(self):
        number = next(k for k, node in enumerate(self.nodes) if not node.origins)
        first = self.nodes[number].inputs[0]
        self.assertGreater(self.error({number: [first, first]}), 100)

    def test_a_product_of_one_micro_batch_that_takes_what_another_made(self):
        products = [node for node in self.nodes if node.type == "dot_general" and node.name.endswith("/micro_1")]
        self.assertGreater(len(products), 10)
        for node in products[::2]:
            inputs = list(node.inputs)
            at = next(k for k, ref in enumerate(inputs) if self.nodes[ref.op].name.endswith("/micro_1"))
            other = self.nodes[inputs[at].op].name.replace("/micro_1", "/micro_0")
            inputs[at] = Ref(self.number[other], inputs[at].port)
            self.assertGreater(self.error({self.number[node.name]: inputs}), 10, node.name)

    def test_labels_of_another_micro_batch(self):
        mine, other = (Ref(self.number[f"inputs/labels/micro_{k}"], 0) for k in (1, 0))
        taker = next(k for k, node in enumerate(self.nodes) if mine in node.inputs)
        self.assertGreater(self.error({taker: [other]}), 100)

    def test_what_cannot_be_executed_is_told_in_one_line(self):
        step, part, nodes = self.model.step, self.model.part(2), self.nodes
        order = topological_order(nodes)
        without = [node for node in self.model.after("microbatch(4)") if node.name != "inputs/labels/micro_2"]
        added = next(k for k, node in enumerate(nodes) if not node.origins)
        ring = [replace(node, type="Reduce") if k == added else node for k, node in enumerate(nodes)]
        product = self.number["head/dot_general_0/micro_0"]
        short = [replace(node, inputs=node.inputs[:1]) if k == product else node for k, node in enumerate(nodes)]
        merged = list(step.nodes())
        merged[-1] = replace(merged[-1], origins=[len(merged) - 1, len(merged) - 2])
        for call, message in (
            (lambda: execute(nodes, step), "is of a micro-batch: trace the step with a smaller batch, too"),
            (lambda: execute(nodes, step, self.model.part(8)), "has another .* in the step with the smaller batch"),
            (lambda: execute(nodes, step, part, order[::-1]), " is run before "),
            (lambda: execute(nodes, step, part, [*order, order[0]]), "is run a second time"),
            (lambda: execute(nodes, step, part, order[:-1]), "1 ops were not run"),
            (lambda: execute(without, step, self.model.part(4)), "has copies 0, 1, 3 of 4 micro-batches"),
            (lambda: execute(ring, step, part), "was added by a pass: what does a Reduce compute"),
            (lambda: execute(short, step, part), "head/dot_general_0/micro_0 takes .*, and its equation "),
            (lambda: execute(merged, step), "which compute different things"),
        ):
            with self.assertRaisesRegex(PassedError, message):
                call()

    def test_rows_of_tables_are_no_sums(self):
        """What is added to rows of other micro-batches, joined in another order or left out is noticed."""
        ratings = Model("ratings", RATINGS)
        nodes = ratings.after("microbatch(2)")
        joins = [k for k, node in enumerate(nodes) if not node.origins and node.type == "concatenate"]
        self.assertEqual(len(joins), 4)
        for change, message in (
            (lambda node: replace(node, type="AddN"), "adds .* to the rows of other micro-batches"),
            (lambda node: replace(node, inputs=node.inputs[::-1]), "joins micro-batches .1, 0. of 2"),
            (lambda node: replace(node, inputs=node.inputs[:1]), "joins micro-batches .0. of 2"),
        ):
            for number in joins:
                changed = [change(node) if k == number else node for k, node in enumerate(nodes)]
                with self.assertRaisesRegex(PassedError, message):
                    execute(changed, ratings.step, ratings.part(2))
        added = next(k for k, node in enumerate(nodes) if node.type == "AddN" and not node.origins)
        changed = [replace(node, type="concatenate") if k == added else node for k, node in enumerate(nodes)]
        with self.assertRaisesRegex(PassedError, "joins .*, which has no rows"):
            execute(changed, ratings.step, ratings.part(2))


class Merged(unittest.TestCase):
    """Ops that compute the same become one."""

    def test_cse_by_hand(self):
        for name in MODELS:
            step = model(name).step
            first, number, nodes = {}, [], []
            for node, op in zip(step.nodes(), step.flat.ops):
                inputs = [Ref(number[ref.op], ref.port) for ref in node.inputs]
                value = op.equation and (op.equation.key, tuple(inputs), op.colocated)
                if value is not None and value in first:
                    nodes[first[value]].origins.append(node.origins[0])
                    number.append(first[value])
                    continue
                first[value] = len(nodes)
                number.append(len(nodes))
                nodes.append(replace(node, inputs=inputs))
            self.check(name, nodes)

    def test_cse(self):
        for name in MODELS:
            self.check(name, model(name).after("cse"))
            execution = execute(model(name).after("cse", "microbatch(2)"), model(name).step, model(name).part(2))
            self.assertEqual(set(execution.results), set(model(name).results))
            self.assertLess(model(name).largest_error(execution.results)[0], 1)

    def check(self, name, nodes):
        self.assertLess(len(nodes), len(model(name).step.flat.ops))
        results = execute(nodes, model(name).step).results
        self.assertEqual(set(results), set(model(name).results))
        for key, mine in results.items():
            self.assertEqual(mine.tobytes(), model(name).results[key].tobytes(), key)


if __name__ == "__main__":
    unittest.main()
