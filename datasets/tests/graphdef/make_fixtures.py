"""Makes loop.pb, while.pbtxt, nested.pb, gradient.pb, resource.pb and model.pbtxt with TensorFlow 2.15.1: python make_fixtures.py"""

import tensorflow.compat.v1 as tf
from google.protobuf import text_format

tf.disable_v2_behavior()


def loop():
    """A while loop in the graph's own control flow: Enter, Merge, Switch, NextIteration, Exit."""
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), tf.ones([4, 4])])
    return graph.as_graph_def()


def power(gradient):
    """x = x * w, 8 times; with `gradient` that of the sum of x, whose loop pops what this one has pushed on stacks."""
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        w = tf.ones([4, 4], name="w")
        start = [tf.constant(0, name="zero"), tf.ones([4, 4], name="x")]
        _, x = tf.while_loop(lambda i, x: i < 8, lambda i, x: (i + 1, x * w), start)
        if gradient:
            tf.gradients(tf.reduce_sum(x), w)
        else:
            tf.identity(x, name="result")
    return graph.as_graph_def(add_shapes=True)


def nested():
    """A loop in the body of a loop: x = x * w, 3 times in each round; the inner one's counter begins at the outer one's."""
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        w = tf.ones([4, 4], name="w")

        def body(i, x):
            _, x = tf.while_loop(lambda j, x: j < i + 3, lambda j, x: (j + 1, x * w), [i, x], name="inner")
            return i + 1, x

        start = [tf.constant(0, name="zero"), tf.ones([4, 4], name="x")]
        tf.identity(tf.while_loop(lambda i, x: i < 5, body, start, name="outer")[1], name="result")
    return graph.as_graph_def(add_shapes=True)


def model(resource):
    """A dense layer and its Adam step, with devices, colocation, references, shapes."""
    with tf.Graph().as_default() as graph, tf.variable_scope("", use_resource=resource):
        with tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32, [8, 16], name="x")
        with tf.device("/job:worker/task:1/device:GPU:*"):
            w = tf.get_variable("w", [16, 4], initializer=tf.zeros_initializer())
        left, right = tf.split(x @ w, 2, axis=1)
        loss = tf.reduce_mean(left * right)
        step = tf.train.AdamOptimizer().minimize(loss, name="step")
        with tf.control_dependencies([step]):
            tf.strings.as_string(loss, name="text")
    return graph.as_graph_def(add_shapes=True)


with open("loop.pb", "wb") as out:
    out.write(loop().SerializeToString(deterministic=True))
with open("while.pbtxt", "w") as out:
    out.write(text_format.MessageToString(power(False)))
with open("nested.pb", "wb") as out:
    out.write(nested().SerializeToString(deterministic=True))
with open("gradient.pb", "wb") as out:
    out.write(power(True).SerializeToString(deterministic=True))
with open("resource.pb", "wb") as out:
    out.write(model(True).SerializeToString(deterministic=True))
with open("model.pbtxt", "w") as out:
    out.write(text_format.MessageToString(model(False)))
