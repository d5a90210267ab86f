"""Counts Laich's three networks on TensorFlow 0.12.1, the version whose graphs her Table 7.2 shows.

Needs Python 3.6: pip install tensorflow==0.12.1 'protobuf<3.20' 'numpy<1.17'; python table_7_2.py
The networks are those of ../placebench_extract/models, in the words of the old interface.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf  # noqa: E402

TABLE = {"convnet": (347, 531, 104), "recurrent": (3069, 5533, 533), "dynamic_rnn": (5271, 9214, 1356)}


def normal(*shape):
    return tf.Variable(tf.random_normal(shape))


def train(optimizer, logits, labels):
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits, labels))
    optimizer.minimize(loss)
    hits = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    tf.reduce_mean(tf.cast(hits, tf.float32))
    tf.global_variables_initializer()


def convnet():
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None, 10])
    keep = tf.placeholder(tf.float32)
    weights = [normal(5, 5, 1, 32), normal(5, 5, 32, 64), normal(3136, 1024), normal(1024, 10)]
    biases = [normal(32), normal(64), normal(1024), normal(10)]
    h = tf.reshape(x, [-1, 28, 28, 1])
    for w, b in zip(weights[:2], biases[:2]):
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, w, [1, 1, 1, 1], "SAME"), b))
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.relu(tf.add(tf.matmul(tf.reshape(h, [-1, 3136]), weights[2]), biases[2]))
    h = tf.nn.dropout(h, keep)
    train(tf.train.AdamOptimizer(0.001), tf.add(tf.matmul(h, weights[3]), biases[3]), y)


def lstm(x, inputs, steps, units, lengths=None):
    rows = tf.split(0, steps, tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, inputs]))
    cell = tf.nn.rnn_cell.BasicLSTMCell(units)
    return tf.nn.rnn(cell, rows, dtype=tf.float32, sequence_length=lengths)[0]


def recurrent():
    x = tf.placeholder(tf.float32, [None, 28, 28])
    y = tf.placeholder(tf.float32, [None, 10])
    weights, biases = normal(128, 10), normal(10)
    outputs = lstm(x, 28, 28, 128)
    train(tf.train.AdamOptimizer(0.001), tf.matmul(outputs[-1], weights) + biases, y)


def dynamic_rnn():
    x = tf.placeholder(tf.float32, [None, 20, 1])
    y = tf.placeholder(tf.float32, [None, 2])
    lengths = tf.placeholder(tf.int32, [None])
    weights, biases = normal(64, 2), normal(2)
    outputs = tf.transpose(tf.pack(lstm(x, 1, 20, 64, lengths)), [1, 0, 2])
    last = tf.range(0, tf.shape(outputs)[0]) * 20 + (lengths - 1)
    outputs = tf.gather(tf.reshape(outputs, [-1, 64]), last)
    train(tf.train.GradientDescentOptimizer(0.01), tf.matmul(outputs, weights) + biases, y)


for build in (convnet, recurrent, dynamic_rnn):
    graph = tf.Graph()
    with graph.as_default():
        build()
    nodes = graph.as_graph_def().node
    found = len(nodes), sum(len(n.input) for n in nodes), sum("_class" in n.attr for n in nodes)
    print("%-12s nodes, edges, colocated: here %s, Table 7.2 %s" % (build.__name__, found, TABLE[build.__name__]))
