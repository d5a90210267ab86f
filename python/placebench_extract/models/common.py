"""Pieces that several models share."""

from ..tf import tf, v1


class LstmCell:
    """A basic LSTM cell: one matrix product for the four gates, no peepholes.

    `bias` adds the gates' bias: `tf.nn.bias_add` as TensorFlow's own cell does since 1.0, or `tf.add` as
    it did in 0.12. It has the attributes that `static_rnn` asks of a cell.
    """

    def __init__(self, name, units, forget_bias=1.0, bias=tf.nn.bias_add, initializer=None):
        self.name, self.units, self.forget_bias = name, units, forget_bias
        self.bias, self.initializer = bias, initializer
        self.weights = self.biases = None

    @property
    def state_size(self):
        return (self.units, self.units)

    @property
    def output_size(self):
        return self.units

    def zero_state(self, batch, dtype):
        shape = [batch, self.units] if isinstance(batch, int) else v1.stack([batch, self.units])
        return tuple(v1.zeros(shape, dtype) for _ in range(2))

    def make_variables(self, inputs):
        with v1.variable_scope(self.name):
            self.weights = v1.get_variable("weights", [inputs + self.units, 4 * self.units], initializer=self.initializer)
            self.biases = v1.get_variable("biases", [4 * self.units], initializer=v1.zeros_initializer())

    def __call__(self, x, state, scope=None):
        c, h = state
        if self.weights is None:
            self.make_variables(int(x.shape[1]))
        with v1.name_scope(self.name):
            gates = self.bias(tf.matmul(tf.concat([x, h], 1), self.weights), self.biases)
            i, j, f, o = tf.split(gates, 4, 1)
            c = c * tf.sigmoid(f + self.forget_bias) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def normal(shape):
    """A variable that starts normally distributed."""
    return v1.Variable(v1.random_normal(shape))


def cross_entropy(logits, labels):
    """Mean cross entropy with one-hot labels."""
    return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels))


def sparse_cross_entropy(logits, labels):
    """Cross entropy of each row, with class numbers as labels."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels)


def accuracy(logits, labels):
    """The share of rows whose largest logit is the label: evaluation only, no part of a training step."""
    hits = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    return tf.reduce_mean(tf.cast(hits, tf.float32))


def minimize_clipped(optimizer, loss, norm):
    """One training step with gradients clipped by their global norm."""
    variables = v1.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(v1.gradients(loss, variables), norm)
    step = v1.train.get_or_create_global_step()
    return optimizer.apply_gradients(zip(gradients, variables), global_step=step)


def one_hot(rng, rows, classes):
    """Random one-hot labels."""
    import numpy as np

    return np.eye(classes, dtype=np.float32)[rng.integers(classes, size=rows)]
