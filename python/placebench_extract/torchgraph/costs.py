"""Operations and bytes of a call, from its shapes alone.

| ATen operation | operations |
|---|---|
| `mm`, `bmm`, `addmm`, … | 2 · rows · columns · contracted, and what is added: exact |
| `convolution` and its backward | 2 · outputs · kernel elements that an output reads: exact but for the padded edge, which counts |
| attention in one operation | its two products, backward five, and its softmax |
| softmax, norms, `gelu`, `silu` and others that are many in one | as many for each element as `STEPS` says |
| Fourier transforms, factorisations and inverses | the leading term of the usual algorithm |
| pooling | one for each element that an output reads |
| reductions, `cumsum`, `sort`, `scatter_add`, … | one for each input element |
| what only moves or makes data | 0 |
| everything else | one for each output element |

A multiplication and an addition are two operations. A power, an exponential or a division counts as one, though it
takes longer. The same numbers follow for JAX, where these are operations of their own.
"""

import math

from .calls import SliceCall, product

MATRICES = {"mm": 0, "bmm": 0, "dot": 0, "vdot": 0, "mv": 0, "addmm": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}  # the left operand
CONVOLUTIONS = {"convolution", "_convolution", "convolution_overrideable", "mkldnn_convolution"}
MOVES = {
    "alias", "arange", "argwhere", "as_strided_copy", "as_strided_scatter", "cat", "clone", "constant_pad_nd", "copy", "copy_", "diag_embed",
    "embedding", "empty", "empty_like", "empty_strided", "eye", "fill", "fill_", "flip", "full", "full_like", "gather", "im2col", "index",
    "index_select", "lift_fresh", "lift_fresh_copy", "linspace", "masked_fill", "masked_select", "new_empty", "new_empty_strided", "new_full",
    "new_ones", "new_zeros", "ones", "ones_like", "reflection_pad1d", "reflection_pad2d", "repeat", "repeat_interleave", "replication_pad2d",
    "roll", "scalar_tensor", "scatter", "select_backward", "select_scatter", "slice_backward", "slice_scatter", "stack", "_to_copy",
    "tril", "tril_indices", "triu", "triu_indices", "unfold_backward", "upsample_nearest1d", "upsample_nearest2d", "where", "zero", "zero_",
    "zeros", "zeros_like",
}  # fmt: skip
NO_BYTES = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
PICKS = {"embedding", "_embedding_bag", "_embedding_bag_forward_only", "gather", "index", "index_select"}  # they read what they return, and their indices
FOLDS = {
    "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "col2im", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum",
    "embedding_dense_backward", "kthvalue", "linalg_vector_norm", "max", "mean", "median", "min", "mode", "norm",
    "_adaptive_avg_pool2d", "prod", "sort", "std", "sum", "topk", "unique", "var",
}  # fmt: skip
ROWS = {"index_add", "index_put", "scatter_add", "scatter_reduce"}  # they add to some rows: one for each element that is added
# Operations that are many in one: how many for each element of the largest array.
STEPS = {
    "_softmax": 5, "_log_softmax": 5, "_softmax_backward_data": 4, "_log_softmax_backward_data": 4, "logsumexp": 4,
    "native_layer_norm": 7, "native_layer_norm_backward": 12, "native_batch_norm": 7, "native_batch_norm_backward": 12,
    "_native_batch_norm_legit": 7, "_native_batch_norm_legit_no_training": 4, "_batch_norm_with_update": 7, "batch_norm_backward": 12,
    "native_group_norm": 7, "native_group_norm_backward": 12, "_fused_rms_norm": 5, "_fused_rms_norm_backward": 10,
    "gelu": 4, "gelu_backward": 9, "silu": 2, "silu_backward": 5, "hardswish": 4, "hardswish_backward": 5, "softplus": 3, "mish": 4,
    "sigmoid_backward": 3, "tanh_backward": 3, "threshold_backward": 1, "elu": 3, "elu_backward": 3, "leaky_relu": 2, "leaky_relu_backward": 2,
    "addcmul": 3, "addcdiv": 3, "lerp": 3, "native_dropout": 2, "native_dropout_backward": 2, "var_mean": 4, "std_mean": 4,
    "upsample_bilinear2d": 7, "upsample_bilinear2d_backward": 7, "_fused_adam": 14, "_fused_adam_": 14, "binary_cross_entropy_with_logits": 7,
    "upsample_bicubic2d": 30, "upsample_bicubic2d_backward": 30, "smooth_l1_loss": 4, "huber_loss": 4, "mse_loss": 3,
}  # fmt: skip
POOLS = {"max_pool2d_with_indices": 1, "avg_pool2d": 1, "max_pool3d_with_indices": 1, "avg_pool3d": 1}  # the argument with the kernel's sides


def operations(call):
    """Arithmetic operations."""
    if isinstance(call, SliceCall):
        return 0
    name, args = call.type, call.template[0]
    made = sum(output.elements for output in call.outputs)
    shapes = [_shape(call, k) for k in range(len(call.arrays))]
    if name in MATRICES:
        left = shapes[MATRICES[name]]
        added = product(call.outputs[0].shape) if name.startswith(("add", "badd")) else 0
        batch = left[0] if name == "addbmm" else 1
        # A complex product is four products and two sums of numbers.
        return (4 if call.outputs[0].dtype.is_complex else 1) * 2 * batch * product(call.outputs[0].shape) * left[-1] + added
    if name == "_grouped_mm":  # each row meets the matrix of its group
        return 2 * product(call.outputs[0].shape) * shapes[0][-1] // (product(shapes[1][:-2]) if len(call.outputs[0].shape) > 2 else 1)
    if name in CONVOLUTIONS:
        return _convolution(call.outputs[0].shape, shapes, args[6])
    if name == "convolution_backward":
        return _convolution_backward(call, shapes)
    if "scaled_dot_product" in name or name == "_flash_attention_forward":
        return _attention(shapes, "backward" in name)
    if name in SPECIAL:
        return SPECIAL[name](call, shapes)
    if name in POOLS:
        return call.outputs[0].elements * product(_sides(args[POOLS[name]], int(name[name.index("pool") + 4])))
    bare = name.rstrip("_")
    if bare in MOVES or name in MOVES:
        return 0
    largest = max([made, *map(product, shapes)])
    if bare in STEPS:
        return STEPS[bare] * largest
    if bare in ROWS:
        return product(shapes[-1])
    if bare in FOLDS:
        return product(shapes[0])
    return made


def bytes_moved(call):
    """Bytes read and written, if every array passes memory once.

    A view is read for the elements that it shows. What picks rows reads only those and their indices; the gradient of an
    embedding writes its table, and reads and writes the rows that it adds to.
    """
    if isinstance(call, SliceCall) or call.type in NO_BYTES:
        return 0
    written = sum(output.bytes for output in call.outputs)
    read = [array.bytes if view is None else min(array.bytes, view.bytes) for array, view in zip(call.arrays, call.views)]
    if call.type in PICKS:
        return 2 * written + sum(read[1:])
    if call.type == "embedding_dense_backward":
        return written + 3 * read[0] + read[1]
    return sum(read) + written


def _shape(call, k):
    view = call.views[k]
    return call.arrays[k].shape if view is None else view.shape


def _convolution(outputs, shapes, is_transposed):
    """Every output, transposed every input, meets the kernel of one channel."""
    inputs, kernel = shapes[0], shapes[1]
    meets = product(inputs) if is_transposed else product(outputs)
    bias = product(outputs) if len(shapes) > 2 else 0
    return 2 * meets * product(kernel[1:]) + bias


def _convolution_backward(call, shapes):
    """As often as in the convolution itself for each of the two gradients, and a sum for that of the bias."""
    args = call.template[0]
    mask, is_transposed = args[10], args[7]
    gradient, inputs, kernel = shapes[0], shapes[1], shapes[2]
    once = 2 * product(inputs if is_transposed else gradient) * product(kernel[1:])
    return once * (bool(mask[0]) + bool(mask[1])) + product(gradient) * bool(mask[2])


def _attention(shapes, is_backward):
    """Queries, keys and values of (batch, heads, length, units); backward is given the gradient before them."""
    query, key, value = shapes[1:4] if is_backward else shapes[:3]
    scores = product(query[:-1]) * key[-2]
    products = 2 * scores * (query[-1] + value[-1])
    # Backward makes the scores again, then the gradients of values, weights, queries and keys.
    return (2 * scores * (3 * query[-1] + 2 * value[-1]) + 9 * scores) if is_backward else products + 5 * scores


def _encoder_layer(call, shapes):
    """Attention of (batch, length, width) to itself with its four projections; of a whole layer, the two dense layers, too."""
    batch, length, width = shapes[0]
    dense = sum(product(shape) for shape in shapes[1:] if len(shape) == 2)
    return 2 * batch * length * dense + batch * length * length * (4 * width)


def _bag(call, shapes):
    """The rows that are looked up, added."""
    return product(shapes[1]) * shapes[0][-1]


def _fourier(call, shapes):
    """5 n log2 n for complex numbers (Cooley & Tukey), half of it where one side is real."""
    elements = max(product(shapes[0]), product(call.outputs[0].shape))
    real = call.type != "_fft_c2c"
    dims = call.template[0][1]
    sizes = max(product(shapes[0][d] for d in dims), product(call.outputs[0].shape[d] for d in dims))
    return round((2.5 if real else 5) * elements * math.log2(max(2, sizes)))


def _cube(factor):
    """Of square matrices, batched: a factor times the cube of the side."""
    return lambda call, shapes: round(factor * product(shapes[0]) * shapes[0][-1])


def _distances(call, shapes):
    """A difference, a square and a sum for each coordinate of each pair."""
    return 3 * product(call.outputs[0].shape) * shapes[0][-1]


SPECIAL = {
    "_native_multi_head_attention": _encoder_layer, "_transformer_encoder_layer_fwd": _encoder_layer,
    "_embedding_bag": _bag, "_embedding_bag_forward_only": _bag,
    "_embedding_bag_dense_backward": lambda call, shapes: product(shapes[0]),
    "native_batch_norm": lambda call, shapes: (7 if call.template[0][5] else 4) * product(shapes[0]),
    "_fft_r2c": _fourier, "_fft_c2r": _fourier, "_fft_c2c": _fourier,
    "_cdist_forward": _distances, "_euclidean_dist": _distances,
    "linalg_inv_ex": _cube(2), "linalg_cholesky_ex": _cube(1 / 3), "linalg_lu_factor_ex": _cube(2 / 3), "_linalg_solve_ex": _cube(2 / 3),
    "linalg_qr": _cube(4 / 3), "_linalg_eigh": _cube(9), "_linalg_svd": _cube(20), "_linalg_det": _cube(2 / 3), "_linalg_slogdet": _cube(2 / 3),
}  # fmt: skip


def _sides(sides, dims):
    return list(sides) * (dims if len(sides) == 1 else 1) if isinstance(sides, (list, tuple)) else [sides] * dims
