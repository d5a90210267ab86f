"""ResNet-50 (He et al. 2016) with batch normalisation and momentum.

The updates of the moving averages are grouped with the training operation. The usual idiom, control
dependencies from all of them to the whole backward pass, would add fifty thousand control edges.
"""

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import sparse_cross_entropy

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))  # blocks and channels of each stage


def build(layer, rng, batch=32, side=224, classes=1000, width=64):
    with layer("conv1"):
        x = v1.placeholder(tf.float32, [batch, side, side, 3])
        h = _convolve(x, 7, width, 2, "conv1")
        h = v1.nn.max_pool(h, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for stage, (blocks, channels) in enumerate(STAGES, 1):
        for block in range(1, blocks + 1):
            name = f"stage{stage}_block{block}"
            with layer(name), v1.variable_scope(name):
                stride = 2 if block == 1 and stage > 1 else 1
                h = _bottleneck(h, channels * width // 64, stride, project=block == 1)
    with layer("fc"):
        y = v1.placeholder(tf.int32, [batch])
        h = tf.reduce_mean(h, [1, 2])
        weights = v1.get_variable("fc_w", [int(h.shape[1]), classes])
        biases = v1.get_variable("fc_b", [classes], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean(sparse_cross_entropy(tf.matmul(h, weights) + biases, y))
    step = v1.train.get_or_create_global_step()
    train = v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
    train = tf.group(train, *v1.get_collection(v1.GraphKeys.UPDATE_OPS))
    feeds = {
        x: rng.random((batch, side, side, 3), dtype=np.float32),
        y: rng.integers(classes, size=batch, dtype=np.int32),
    }
    return Parts(train, v1.global_variables_initializer(), feeds)


def _bottleneck(x, channels, stride, project):
    shortcut = _convolve(x, 1, 4 * channels, stride, "shortcut", relu=False) if project else x
    h = _convolve(x, 1, channels, stride, "a")
    h = _convolve(h, 3, channels, 1, "b")
    h = _convolve(h, 1, 4 * channels, 1, "c", relu=False)
    return tf.nn.relu(h + shortcut)


def _convolve(x, size, channels, stride, name, relu=True):
    with v1.variable_scope(name):
        kernel = v1.get_variable("kernel", [size, size, int(x.shape[-1]), channels], initializer=v1.glorot_uniform_initializer())
        x = v1.nn.conv2d(x, kernel, [1, stride, stride, 1], "SAME")
        x = _normalise(x, channels)
        return tf.nn.relu(x) if relu else x


def _normalise(x, channels):
    zeros, ones = v1.zeros_initializer(), v1.ones_initializer()
    with v1.variable_scope("bn"):
        scale = v1.get_variable("gamma", [channels], initializer=ones)
        offset = v1.get_variable("beta", [channels], initializer=zeros)
        mean = v1.get_variable("moving_mean", [channels], initializer=zeros, trainable=False)
        variance = v1.get_variable("moving_variance", [channels], initializer=ones, trainable=False)
        y, batch_mean, batch_variance = v1.nn.fused_batch_norm(x, scale, offset, epsilon=1e-3, is_training=True)
        for moving, current in ((mean, batch_mean), (variance, batch_variance)):
            update = v1.assign_sub(moving, (moving - current) * 0.01)
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, update)
    return y
