"""Which module of a model runs, forward and backward."""


class Modules:
    """Follows a model through its step. Used with `with`; `layer()` answers the layer of what runs now.

    The layer is the path of the module, cut after its first number (`encoder.layers.3`), or after two names where it has
    no number. An operation of the backward pass belongs to the module whose output's gradient was there last.
    """

    def __init__(self, model):
        self.model, self.running, self.backward, self.handles = model, [], None, []

    def __enter__(self):
        for path, module in self.model.named_modules():
            if path:
                self.handles.append(module.register_forward_pre_hook(self._enter(layer_of(path))))
                self.handles.append(_after(module, self._leave(layer_of(path))))
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    def layer(self):
        return self.running[-1] if self.running else self.backward

    def forget(self):
        """The backward pass is over: what follows belongs to no module."""
        self.backward = None

    def _enter(self, layer):
        def enter(_module, _given):
            self.running.append(layer)

        return enter

    def _leave(self, layer):
        def gradient(_gradient):
            self.backward = layer

        def leave(_module, _given, made):
            self.running.pop()
            for tensor in _tensors(made):
                if tensor.requires_grad:
                    tensor.register_hook(gradient)

        return leave


def _after(module, hook):
    """Runs a hook after a module, also if it is left by an exception, as a checkpoint that has computed enough is."""
    try:
        return module.register_forward_hook(hook, always_call=True)
    except TypeError:  # before PyTorch 2.0
        return module.register_forward_hook(hook)


def layer_of(path):
    """The layer of a module's path.

    >>> layer_of("bert.encoder.layer.3.attention"), layer_of("bert.embeddings.word"), layer_of("head")
    ('bert.encoder.layer.3', 'bert.embeddings', 'head')
    """
    names = path.split(".")
    end = next((k + 1 for k, name in enumerate(names) if name.isdigit()), 2)
    return ".".join(names[:end])


def _tensors(value):
    if hasattr(value, "register_hook"):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
