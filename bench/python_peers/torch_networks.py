"""Networks that PyTorch trains, made of the parameters of a case."""

import torch
import torch.nn.functional as F
from torch import nn


def fill(parameter, value):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(value))


def linear(*parts):
    """One layer for weights (inputs, units) with biases, beside each other."""
    weights, biases = [w.T for w, _ in parts], [b for _, b in parts]
    layer = nn.Linear(weights[0].shape[1], sum(len(b) for b in biases))
    rows = 0
    for w, b in zip(weights, biases):
        fill(layer.weight[rows : rows + len(b)], w.copy())
        fill(layer.bias[rows : rows + len(b)], b)
        rows += len(b)
    return layer


def norm(gamma, beta):
    layer = nn.LayerNorm(len(gamma), eps=1e-5)
    fill(layer.weight, gamma)
    fill(layer.bias, beta)
    return layer


def perceptron(inputs, _):
    layers = []
    for i in range(3):
        layers += [linear((inputs["w%d" % i], inputs["b%d" % i])), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class TransformerLayer(nn.Module):
    def __init__(self, inputs, layer, heads):
        super().__init__()
        of = lambda name: inputs["%d.%s" % (layer, name)]
        self.heads = heads
        self.norm, self.inner_norm = norm(of("gamma1"), of("beta1")), norm(of("gamma2"), of("beta2"))
        self.projection = linear(*((of("w" + one), of("b" + one)) for one in "qkv"))
        self.out = linear((of("wo"), of("bo")))
        self.inner, self.outer = linear((of("w1"), of("b1"))), linear((of("w2"), of("b2")))

    def forward(self, x):
        split = self.projection(self.norm(x)).unflatten(-1, (3, self.heads, -1))
        q, k, v = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.outer(F.relu(self.inner(self.inner_norm(x))))


def transformer(inputs, case):
    sizes = case["sizes"]
    layers = [TransformerLayer(inputs, i, sizes["heads"]) for i in range(sizes["layers"])]
    last = norm(inputs["gamma"], inputs["beta"]), linear((inputs["w"], inputs["b"]))
    return nn.Sequential(*layers, *last)


def convolutional(inputs, _):
    layers = []
    for i in range(2):
        w, b = inputs["w%d" % i], inputs["b%d" % i]
        layer = nn.Conv2d(w.shape[1], w.shape[0], 3, padding=1)
        fill(layer.weight, w)
        fill(layer.bias, b)
        layers += [layer, nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), linear((inputs["w2"], inputs["b2"])))
