"""An LSTM over sequences of varying length: the dynamic RNN of Laich's Table 7.2.

The network is unrolled, and every step stands inside conditionals (Switch and Merge) that skip it for
sequences that have ended. The branches that a step does not take never run and have no measured time.
"""

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import LstmCell, accuracy, cross_entropy, normal, one_hot


def build(layer, rng, batch=128, steps=20, units=64, classes=2, shortest=3):
    with layer("input"):
        x = v1.placeholder(tf.float32, [None, steps, 1])
        y = v1.placeholder(tf.float32, [None, classes])
        lengths = v1.placeholder(tf.int32, [None])
    with layer("out"):
        weights, biases = normal([units, classes]), normal([classes])
    with layer("input"):
        rows = tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, 1])
        rows = tf.split(rows, steps, 0)
    with layer("lstm"):
        cell = LstmCell("basic_lstm_cell", units, bias=tf.add)
        outputs, _ = v1.nn.static_rnn(cell, rows, dtype=tf.float32, sequence_length=lengths)
    with layer("select"):
        outputs = tf.transpose(tf.stack(outputs), [1, 0, 2])
        last = tf.range(0, tf.shape(outputs)[0]) * steps + (lengths - 1)
        outputs = tf.gather(tf.reshape(outputs, [-1, units]), last)
    with layer("out"):
        logits = tf.matmul(outputs, weights) + biases
        loss = cross_entropy(logits, y)
    train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    accuracy(logits, y)
    feeds = {
        x: rng.random((batch, steps, 1), dtype=np.float32),
        y: one_hot(rng, batch, classes),
        lengths: rng.integers(shortest, steps + 1, size=batch, dtype=np.int32),
    }
    return Parts(train, v1.global_variables_initializer(), feeds)
