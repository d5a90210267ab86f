"""ONNX: shapes as the package onnx infers them, and models that its checker accepts.

PLACEBENCH names the command. Without the package the tests are skipped, with the reason.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ.get("PLACEBENCH", "target/release/placebench")

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    onnx, reason = None, str(error)
else:
    reason = ""


def weights(name, *shape):
    """An initializer, or small whole numbers for shapes."""
    return numpy_helper.from_array(numpy.zeros(shape, numpy.float32), name)


def integers(name, *values):
    return numpy_helper.from_array(numpy.array(values, numpy.int64), name)


def model(nodes, inputs, initializers, rank, opset=17):
    """A model whose values have no declared shapes but the inputs'. Its output has a rank."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    last = nodes[-1].output[0]
    outputs = [helper.make_tensor_value_info(last, TensorProto.FLOAT, [None] * rank)]
    graph = helper.make_graph(nodes, "model", inputs, outputs, initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def node(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def convolutional():
    """A residual block between a stem and a head."""
    nodes = [
        node("Conv", "x w1 b1", "c1", strides=[2, 2], pads=[3, 3, 3, 3]),
        node("BatchNormalization", "c1 s m0 m1 v", "n1"),
        node("Relu", "n1", "r1"),
        node("MaxPool", "r1", "p1", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
        node("Conv", "p1 w2", "c2", auto_pad="SAME_UPPER", group=4),
        node("Sigmoid", "c2", "g2"),
        node("Mul", "c2 g2", "h2"),
        node("Add", "p1 h2", "a2"),
        node("Pad", "a2 pads", "d2"),
        node("AveragePool", "d2", "p2", kernel_shape=[2, 3], strides=[2, 1], ceil_mode=1),
        node("ConvTranspose", "p2 w3", "t3", strides=[2, 2], output_padding=[1, 0], pads=[0, 1, 1, 0]),
        node("Resize", "t3  scales", "u3", mode="linear"),
        node("Concat", "u3 u3", "k3", axis=1),
        node("Split", "k3 parts", "s3 s4", axis=1),
        node("DepthToSpace", "s3", "z3", blocksize=2),
        node("ReduceMean", "z3", "e3", axes=[2, -1], keepdims=0),
        node("Gemm", "e3 w4 b4", "f4", transB=1),
        node("Softmax", "f4", "o"),
    ]
    nodes[11].input[:] = ["t3", "", "scales"]
    initializers = [weights("w1", 16, 3, 7, 7), *(weights(name, 16) for name in ("b1", "s", "m0", "m1", "v"))]
    initializers += [weights("w2", 16, 4, 3, 3), weights("w3", 16, 12, 3, 3), integers("parts", 16, 8)]
    initializers += [integers("pads", 0, 0, 1, 0, 0, 0, 2, 1), weights("w4", 10, 4), weights("b4", 10)]
    initializers.append(numpy_helper.from_array(numpy.array([1, 1, 1.5, 2], numpy.float32), "scales"))
    return model(nodes, {"x": [2, 3, 61, 50]}, initializers, 2)


def transformer(batch):
    """A block of a transformer, as exporters write it: shapes come from shapes."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "batch", axis=0),
        node("Gather", "s one", "length", axis=0),
        node("LayerNormalization", "x g b", "n"),
        node("MatMul", "n w", "qkv"),
        node("Split", "qkv", "q k v", axis=-1, num_outputs=3),
        node("Unsqueeze", "batch axis", "batch1"),
        node("Unsqueeze", "length axis", "length1"),
        node("Concat", "batch1 length1 heads rest", "to", axis=0),
        *(node("Reshape", f"{x} to", f"{x}1") for x in "qkv"),
        node("Transpose", "q1", "q2", perm=[0, 2, 1, 3]),
        node("Transpose", "k1", "k2", perm=[0, 2, 3, 1]),
        node("Transpose", "v1", "v2", perm=[0, 2, 1, 3]),
        node("MatMul", "q2 k2", "scores"),
        node("Constant", "", "scale", value_float=8.0),
        node("Div", "scores scale", "scaled"),
        node("Range", "zero length one", "row"),
        node("Unsqueeze", "row axis1", "column"),
        node("Less", "column row", "mask"),
        node("Where", "mask scale scaled", "masked"),
        node("Softmax", "masked", "weights"),
        node("MatMul", "weights v2", "context"),
        node("Transpose", "context", "back", perm=[0, 2, 1, 3]),
        node("Slice", "s zero1 two", "first"),
        node("Concat", "first width", "flat", axis=0),
        node("Reshape", "back flat", "joined"),
        node("Einsum", "joined p", "projected", equation="bti,io->bto"),
        node("Add", "x projected", "residual"),
        node("Cast", "residual", "half", to=TensorProto.FLOAT16),
        node("Gelu", "residual", "active"),
        node("ArgMax", "active", "token", axis=-1, keepdims=0),
        node("TopK", "active two", "best which", axis=-1),
        node("GatherElements", "active which", "o", axis=-1),
    ]
    initializers = [weights("w", 16, 48), weights("p", 16, 16), weights("g", 16), weights("b", 16)]
    initializers += [integers("axis", 0), integers("axis1", 1), integers("heads", 4), integers("rest", -1)]
    initializers += [integers("zero1", 0), integers("two", 2), integers("width", 16)]
    initializers += [numpy_helper.from_array(numpy.array(i, numpy.int64), name) for i, name in enumerate(["zero", "one"])]
    return model(nodes, {"x": [batch, 7, 16]}, initializers, 3, opset=20)


def recurrent():
    nodes = [
        node("LSTM", "x w r", "all h c", hidden_size=5, direction="bidirectional"),
        node("Squeeze", "h", "d"),
        node("ReduceSum", "all axes", "sum", keepdims=0),
        node("Tile", "sum repeats", "o"),
    ]
    initializers = [weights("w", 2, 20, 3), weights("r", 2, 20, 5), integers("axes", 1), integers("repeats", 1, 2, 3)]
    return model(nodes, {"x": [6, 4, 3]}, initializers, 3)


@unittest.skipIf(onnx is None, f"needs onnx: {reason}")
class Onnx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def convert(self, source, target, *options):
        run = [COMMAND, "convert", str(source), str(target), "--force", *options]
        subprocess.run(run, check=True, capture_output=True, timeout=120)
        return target

    def nodes(self, source, *options):
        """The nodes of a graph by name."""
        path = self.convert(source, self.folder / "graph.nx.json", *options)
        return {node["name"]: node for node in json.loads(path.read_text())["nodes"]}

    def check_shapes(self, made, read, *options):
        """Each value has the bytes that onnx infers for it in `made`; placebench reads `read`."""
        onnx.checker.check_model(made)
        path = self.folder / "model.onnx"
        onnx.save(read, path)
        nodes = self.nodes(path, *options)
        inferred = onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True, data_prop=True)
        values = {info.name: info.type.tensor_type for info in (*inferred.graph.value_info, *inferred.graph.output)}
        compared = 0
        for node in made.graph.node:
            sizes = [int(size) for size in nodes[node.output[0]]["outputs"].split(";")]
            self.assertEqual(len(sizes), len(node.output))
            for value, size in zip(node.output, sizes):
                shape = [dim.dim_value for dim in values[value].shape.dim]
                if not all(dim.HasField("dim_value") for dim in values[value].shape.dim):
                    continue
                element = helper.tensor_dtype_to_np_dtype(values[value].elem_type).itemsize
                self.assertEqual(size, element * int(numpy.prod(shape)), f"{value}: {shape}")
                compared += 1
        return compared

    def test_a_convolutional_network_has_the_shapes_that_onnx_infers(self):
        made = convolutional()
        self.assertEqual(self.check_shapes(made, made), 19)

    def test_a_transformer_with_a_named_batch_has_the_shapes_that_onnx_infers(self):
        # onnx infers for a size; placebench reads the name and gets the size.
        self.assertGreaterEqual(self.check_shapes(transformer(3), transformer("batch"), "--dim", "batch=3"), 30)

    def test_a_recurrent_network_has_the_shapes_that_onnx_infers(self):
        made = recurrent()
        self.assertEqual(self.check_shapes(made, made), 6)

    def test_the_checker_accepts_what_is_written_and_the_graph_comes_back(self):
        for name in ("convnet", "laich1"):
            path = self.convert(name, self.folder / "own.onnx", "--strict")
            made = onnx.load(path)
            onnx.checker.check_model(made, full_check=True)
            onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True)
            # What onnx writes is the same graph here.
            onnx.save(made, self.folder / "again.onnx")
            first = self.convert(name, self.folder / "first.nx.json")
            again = self.convert(self.folder / "again.onnx", self.folder / "again.nx.json")
            self.assertEqual(json.loads(first.read_text()), json.loads(again.read_text()))


if __name__ == "__main__":
    unittest.main()
