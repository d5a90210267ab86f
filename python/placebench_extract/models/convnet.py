"""Two convolutions with pooling, two dense layers, dropout: the MNIST network of Laich's Table 7.2."""

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import accuracy, cross_entropy, normal, one_hot


def build(layer, rng, batch=128, side=28, classes=10, channels=32, dense=1024):
    pixels = side * side
    flat = (side // 4) ** 2 * 2 * channels
    with layer("input"):
        x = v1.placeholder(tf.float32, [None, pixels])
        y = v1.placeholder(tf.float32, [None, classes])
        keep = v1.placeholder(tf.float32)
    with layer("conv1"):
        w1, b1 = normal([5, 5, 1, channels]), normal([channels])
    with layer("conv2"):
        w2, b2 = normal([5, 5, channels, 2 * channels]), normal([2 * channels])
    with layer("fc1"):
        w3, b3 = normal([flat, dense]), normal([dense])
    with layer("out"):
        w4, b4 = normal([dense, classes]), normal([classes])

    with layer("input"):
        h = tf.reshape(x, [-1, side, side, 1])
    with layer("conv1"):
        h = _convolve(h, w1, b1)
    with layer("conv2"):
        h = _convolve(h, w2, b2)
    with layer("fc1"):
        h = tf.reshape(h, [-1, flat])
        h = tf.nn.relu(tf.add(tf.matmul(h, w3), b3))
        h = v1.nn.dropout(h, keep)
    with layer("out"):
        logits = tf.add(tf.matmul(h, w4), b4)
        loss = cross_entropy(logits, y)
    train = v1.train.AdamOptimizer(0.001).minimize(loss)
    accuracy(logits, y)
    feeds = {
        x: rng.random((batch, pixels), dtype=np.float32),
        y: one_hot(rng, batch, classes),
        keep: np.float32(0.75),
    }
    return Parts(train, v1.global_variables_initializer(), feeds)


def _convolve(x, weights, biases):
    x = tf.nn.relu(tf.nn.bias_add(v1.nn.conv2d(x, weights, [1, 1, 1, 1], "SAME"), biases))
    return v1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
