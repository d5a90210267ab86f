"""A transformer encoder with the sizes of BERT-base (Devlin et al. 2019), trained to predict masked words.

The output matrix is the word embedding transposed, as in BERT, so that the first and the last layer
share a variable.
"""

import math

import numpy as np

from ..tf import tf, v1
from . import Parts
from .common import minimize_clipped, sparse_cross_entropy


def build(layer, rng, batch=8, length=128, depth=12, units=768, heads=12, vocabulary=30522, positions=512, drop=0.1):
    small = v1.truncated_normal_initializer(stddev=0.02)
    zeros, ones = v1.zeros_initializer(), v1.ones_initializer()
    tokens = batch * length

    def dense(x, outputs, name, activation=lambda y: y):
        with v1.variable_scope(name):
            weights = v1.get_variable("kernel", [int(x.shape[-1]), outputs], initializer=small)
            biases = v1.get_variable("bias", [outputs], initializer=zeros)
            return activation(tf.nn.bias_add(tf.matmul(x, weights), biases))

    def normalise(x, name):
        with v1.variable_scope(name):
            scale = v1.get_variable("gamma", [units], initializer=ones)
            offset = v1.get_variable("beta", [units], initializer=zeros)
            mean, variance = v1.nn.moments(x, [-1], keep_dims=True)
            return v1.nn.batch_normalization(x, mean, variance, offset, scale, 1e-12)

    def gelu(x):
        return 0.5 * x * (1.0 + tf.math.erf(x / np.float32(math.sqrt(2.0))))

    def dropout(x):
        return v1.nn.dropout(x, rate=drop)

    def split_heads(x):
        return tf.transpose(tf.reshape(x, [batch, length, heads, units // heads]), [0, 2, 1, 3])

    def encode(x, mask):
        query, key, value = (split_heads(dense(x, units, name)) for name in ("query", "key", "value"))
        score = tf.matmul(query, key, transpose_b=True) * (1.0 / math.sqrt(units / heads)) + mask
        context = tf.matmul(dropout(tf.nn.softmax(score)), value)
        context = tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [tokens, units])
        x = normalise(x + dropout(dense(context, units, "output")), "attention_norm")
        inner = dense(x, 4 * units, "inner", gelu)
        return normalise(x + dropout(dense(inner, units, "outer")), "feed_forward_norm")

    with v1.variable_scope("bert"):
        with layer("embedding"):
            ids = v1.placeholder(tf.int32, [batch, length], "ids")
            mask = v1.placeholder(tf.float32, [batch, length], "mask")
            table = v1.get_variable("word", [vocabulary, units], initializer=small)
            position = v1.get_variable("position", [positions, units], initializer=small)
            x = dropout(normalise(tf.nn.embedding_lookup(table, ids) + position[:length], "embedding_norm"))
            x = tf.reshape(x, [tokens, units])
            bias = tf.reshape((1.0 - mask) * -1e4, [batch, 1, 1, length])
        for k in range(depth):
            with layer(f"layer_{k}"), v1.variable_scope(f"layer_{k}"):
                x = encode(x, bias)
        with layer("mlm"):
            labels = v1.placeholder(tf.int32, [batch, length], "labels")
            h = normalise(dense(x, units, "mlm", gelu), "mlm_norm")
            biases = v1.get_variable("output_bias", [vocabulary], initializer=zeros)
            logits = tf.nn.bias_add(tf.matmul(h, table, transpose_b=True), biases)
            loss = tf.reduce_mean(sparse_cross_entropy(logits, tf.reshape(labels, [-1])))
    train = minimize_clipped(v1.train.AdamOptimizer(1e-4), loss, 1.0)
    words = lambda: rng.integers(vocabulary, size=(batch, length), dtype=np.int32)  # noqa: E731
    feeds = {ids: words(), labels: words(), mask: np.ones((batch, length), np.float32)}
    return Parts(train, v1.global_variables_initializer(), feeds)
