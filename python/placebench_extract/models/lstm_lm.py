"""The "large" word-level language model of Zaremba et al. 2014, with the sizes of Bahnmueller 2018.

The embedding is pinned to the CPU, as in TensorFlow's tutorial of this model.
"""

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import LstmCell, minimize_clipped, sparse_cross_entropy


def build(layer, rng, batch=20, steps=40, units=1500, depth=2, vocabulary=10000, keep=0.35):
    uniform = v1.random_uniform_initializer(-0.04, 0.04)
    with layer("embedding"):
        x = v1.placeholder(tf.int32, [batch, steps])
    with layer("softmax"):
        y = v1.placeholder(tf.int32, [batch, steps])
    with v1.variable_scope("lm", initializer=uniform):
        with layer("embedding"):
            with v1.device("/cpu:0"):
                table = v1.get_variable("embedding", [vocabulary, units])
                words = tf.nn.embedding_lookup(table, x)
            hs = tf.unstack(v1.nn.dropout(words, rate=1 - keep), steps, 1)
        for k in range(depth):
            with layer(f"lstm_{k}"):
                cell = LstmCell(f"lstm_{k}", units, forget_bias=0.0, initializer=uniform)
                state = cell.zero_state(batch, tf.float32)
                for t in range(steps):
                    h, state = cell(hs[t], state)
                    hs[t] = v1.nn.dropout(h, rate=1 - keep)
        with layer("softmax"):
            h = tf.reshape(tf.stack(hs, 1), [-1, units])
            weights = v1.get_variable("softmax_w", [units, vocabulary])
            biases = v1.get_variable("softmax_b", [vocabulary])
            logits = tf.matmul(h, weights) + biases
            loss = tf.reduce_sum(sparse_cross_entropy(logits, tf.reshape(y, [-1]))) / batch
    rate = v1.Variable(1.0, trainable=False, name="learning_rate")
    train = minimize_clipped(v1.train.GradientDescentOptimizer(rate), loss, 10.0)
    words = lambda: rng.integers(vocabulary, size=(batch, steps), dtype=np.int32)  # noqa: E731
    return Parts(train, v1.global_variables_initializer(), {x: words(), y: words()})
