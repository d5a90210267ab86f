"""Neural machine translation after Luong et al. 2017, with the sizes of Bahnmueller 2018.

An encoder and a decoder of LSTM layers, unrolled over the longest sentence; the decoder attends to the
encoder's outputs by the dot product and feeds what it attended to into its next step.
"""

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import LstmCell, minimize_clipped, sparse_cross_entropy


def build(layer, rng, batch=64, steps=50, units=1024, depth=2, vocabulary=32000):
    uniform = v1.random_uniform_initializer(-0.1, 0.1)
    with layer("encoder_embedding"):
        source = v1.placeholder(tf.int32, [batch, steps], "source")
    with layer("decoder_embedding"):
        target_in = v1.placeholder(tf.int32, [batch, steps], "target_in")
    with layer("projection"):
        target_out = v1.placeholder(tf.int32, [batch, steps], "target_out")
        target_weights = v1.placeholder(tf.float32, [batch, steps], "target_weights")
    with layer("attention"):
        source_mask = v1.placeholder(tf.float32, [batch, steps], "source_mask")

    with v1.variable_scope("nmt", initializer=uniform):
        with v1.variable_scope("encoder"):
            with layer("encoder_embedding"):
                table = v1.get_variable("embedding", [vocabulary, units])
                hs = tf.unstack(tf.nn.embedding_lookup(table, source), steps, 1)
            states = []
            for k in range(depth):
                with layer(f"encoder_{k}"):
                    cell = LstmCell(f"lstm_{k}", units, initializer=uniform)
                    state = cell.zero_state(batch, tf.float32)
                    for t in range(steps):
                        hs[t], state = cell(hs[t], state)
                    states.append(state)
        with v1.variable_scope("decoder"):
            with layer("decoder_embedding"):
                table = v1.get_variable("embedding", [vocabulary, units])
                words = tf.unstack(tf.nn.embedding_lookup(table, target_in), steps, 1)
            with layer("attention"):
                memory = tf.stack(hs, 1)
                memory_weights = v1.get_variable("memory_w", [units, units])
                keys = tf.reshape(tf.matmul(tf.reshape(memory, [-1, units]), memory_weights), [batch, steps, units])
                attention_weights = v1.get_variable("attention_w", [2 * units, units])
                attended = v1.zeros([batch, units])
            with layer("projection"):
                weights = v1.get_variable("projection_w", [units, vocabulary])
                biases = v1.get_variable("projection_b", [vocabulary])
            cells = [LstmCell(f"lstm_{k}", units, initializer=uniform) for k in range(depth)]
            losses = []
            for t in range(steps):
                with v1.name_scope(f"step_{t}"):
                    with layer("decoder_0"):
                        h = tf.concat([words[t], attended], 1)
                    for k in range(depth):
                        with layer(f"decoder_{k}"):
                            h, states[k] = cells[k](h, states[k])
                    with layer("attention"):
                        score = tf.squeeze(tf.matmul(tf.expand_dims(h, 1), keys, transpose_b=True), [1])
                        share = tf.nn.softmax(score + (source_mask - 1.0) * 1e9)
                        context = tf.squeeze(tf.matmul(tf.expand_dims(share, 1), memory), [1])
                        attended = tf.tanh(tf.matmul(tf.concat([h, context], 1), attention_weights))
                    with layer("projection"):
                        logits = tf.matmul(attended, weights) + biases
                        losses.append(sparse_cross_entropy(logits, target_out[:, t]) * target_weights[:, t])
            with layer("projection"):
                loss = tf.add_n([tf.reduce_sum(one) for one in losses]) / batch
    train = minimize_clipped(v1.train.AdamOptimizer(1e-3), loss, 5.0)
    words = lambda: rng.integers(vocabulary, size=(batch, steps), dtype=np.int32)  # noqa: E731
    ones = np.ones((batch, steps), np.float32)
    feeds = {source: words(), target_in: words(), target_out: words(), target_weights: ones, source_mask: ones}
    return Parts(train, v1.global_variables_initializer(), feeds)
