"""Finds the order in which a model's layers run, so that FSDP2 can fetch the next ones ahead."""


class LayerOrder:
    """Records the order in the model's first forward. Then has each layer fetch the next `prefetch` layers, in place of
    lists that were set before; calls `on_last_layers` with the layers with which backward begins; and removes its
    hooks."""

    def __init__(self, model, layers, prefetch, on_last_layers):
        self._prefetch, self._on_last_layers = prefetch, on_last_layers
        self._began, self._ended = [], []
        self._hooks = [layer.register_forward_pre_hook(self._begins) for layer in layers]
        self._hooks += [layer.register_forward_hook(self._ends) for layer in layers]
        self._hooks.append(model.register_forward_hook(self._all_ran))

    def _begins(self, layer, _inputs):
        if layer not in self._began:
            self._began.append(layer)

    def _ends(self, layer, _inputs, _output):
        if layer in self._ended:
            self._ended.remove(layer)  # backward begins with a layer's last run
        self._ended.append(layer)

    def _all_ran(self, _model, _inputs, _output):
        for hook in self._hooks:
            hook.remove()
        for at, layer in enumerate(self._began):
            layer.set_modules_to_forward_prefetch(self._began[at + 1 : at + 1 + self._prefetch])
        backward = self._ended[::-1]
        for at, layer in enumerate(backward):
            layer.set_modules_to_backward_prefetch(backward[at + 1 : at + 1 + self._prefetch])
        self._on_last_layers([layer for layer in backward if layer is not _model][: self._prefetch])
