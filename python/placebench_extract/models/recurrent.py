"""An LSTM that reads an MNIST digit row by row: the recurrent network of Laich's Table 7.2."""

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import LstmCell, accuracy, cross_entropy, normal, one_hot


def build(layer, rng, batch=128, steps=28, inputs=28, units=128, classes=10):
    with layer("input"):
        x = v1.placeholder(tf.float32, [None, steps, inputs])
        y = v1.placeholder(tf.float32, [None, classes])
    with layer("out"):
        weights, biases = normal([units, classes]), normal([classes])
    with layer("input"):
        rows = tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, inputs])
        rows = tf.split(rows, steps, 0)
    with layer("lstm"):
        cell = LstmCell("basic_lstm_cell", units, bias=tf.add)
        outputs, _ = v1.nn.static_rnn(cell, rows, dtype=tf.float32)
    with layer("out"):
        logits = tf.matmul(outputs[-1], weights) + biases
        loss = cross_entropy(logits, y)
    train = v1.train.AdamOptimizer(0.001).minimize(loss)
    accuracy(logits, y)
    feeds = {x: rng.random((batch, steps, inputs), dtype=np.float32), y: one_hot(rng, batch, classes)}
    return Parts(train, v1.global_variables_initializer(), feeds)
