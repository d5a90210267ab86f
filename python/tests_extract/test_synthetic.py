import unittest
from types import SimpleNamespace

from placebench_extract.execute.plan import check_order, check_transfers
from placebench_extract.execute.synthetic import SIZES, nodes, placement, transfers
from placebench_extract.flat import Ref


def flat_of(made):
    """A flat graph as a framework makes it of a node: an argument, an op for each tensor it reads, one that makes its own."""
    ops, outputs = [], []

    def add(inputs, size, equation=True):
        ops.append(SimpleNamespace(inputs=[Ref(op, 0) for op in inputs], outputs=[SimpleNamespace(bytes=size)], equation=equation or None, name=""))
        return len(ops) - 1

    for node in made:
        base = add([], 4 * node.size, equation=False)
        reads = [add([outputs[source]], 4) for source in node.inputs]
        if node.width:
            matrix = add([add([], 4 * node.width**2, equation=False), *reads], 4 * node.width**2)
            reads = [add([matrix], 4)]
        outputs.append(add([base, *reads], 4 * node.size))
    return SimpleNamespace(ops=ops)


class RandomSteps(unittest.TestCase):
    def test_a_node_reads_what_is_made_before_and_sizes_are_as_said(self):
        for sizes, (least, most) in enumerate(SIZES):
            made = nodes(7, sizes)
            self.assertEqual(made, nodes(7, sizes))
            self.assertNotEqual(made, nodes(8, sizes))
            for number, node in enumerate(made):
                self.assertTrue(all(source < number for source in node.inputs))
                self.assertTrue(least <= 4 * node.size <= most, node)
            self.assertGreater(sum(node.width > 0 for node in made), len(made) // 3)

    def test_placements_can_run_and_move_tensors_of_their_sizes(self):
        for sizes, (least, most) in enumerate(SIZES):
            flat, moved = flat_of(nodes(0, sizes)), []
            for seed in range(30):
                on = placement(flat, (1, 3), sizes, seed)
                self.assertEqual(set(on), {1, 3})
                tensors = transfers(flat, on)
                check_transfers(flat, on, tensors)
                check_order(flat, on, [[op for op, device in enumerate(on) if device == d] for d in range(4)])
                moved += [tensor["bytes"] for tensor in tensors]
                for op in flat.ops:
                    for ref in op.inputs:
                        if flat.ops[ref.op].equation is None:
                            self.assertEqual(on[ref.op], on[flat.ops.index(op)], "an argument is where it is read")
            with self.subTest(sizes):
                self.assertLessEqual(max(moved), most)
                self.assertGreater(max(moved), most // 8)
                self.assertGreater(sum(size >= least for size in moved), len(moved) // 4)

    def test_placements_differ_in_how_much_they_move(self):
        flat = flat_of(nodes(0, 1))
        counts = sorted(len(transfers(flat, placement(flat, (0, 1), 1, seed))) for seed in range(12))
        self.assertGreater(counts[-1], 2 * counts[0])


if __name__ == "__main__":
    unittest.main()
