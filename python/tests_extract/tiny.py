"""Every model, small enough to trace in a second."""

TINY = {
    "convnet": dict(batch=4, side=8, channels=2, dense=6),
    "recurrent": dict(batch=4, steps=3, inputs=5, units=6),
    "dynamic_rnn": dict(batch=4, steps=4, units=3, shortest=1),
    "lstm_lm": dict(batch=2, steps=3, units=4, vocabulary=11),
    "nmt": dict(batch=2, steps=3, units=4, vocabulary=11),
    "resnet50": dict(batch=1, side=32, classes=5, width=8),
    "transformer": dict(batch=2, length=4, depth=2, units=8, heads=2, vocabulary=11, positions=6),
}
