"""The steps of networks.mjs as one writes them in JAX. Parameters have Kaon's names."""

import jax
from jax import lax, nn
from jax import numpy as jnp


def dense(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], -1)
    return -picked.mean()


def mlp(p, x):
    return dense(p, "layers.2", nn.relu(dense(p, "layers.1", nn.relu(dense(p, "layers.0", x)))))


def lstm(p, x):
    cell = {name: p["lstm.cells.0." + name] for name in ("inputWeight", "inputBias", "stateWeight", "stateBias")}
    projected = x @ cell["inputWeight"].T + cell["inputBias"]

    def step(state, row):
        h, c = state
        i, f, g, o = jnp.split(row + h @ cell["stateWeight"].T + cell["stateBias"], 4, -1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        return (nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], cell["stateWeight"].shape[1]), x.dtype)
    (h, _), _ = lax.scan(step, (zeros, zeros), jnp.swapaxes(projected, 0, 1))
    return dense(p, "head", h)


def norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p[name + ".gamma"] + p[name + ".beta"]


def attention(p, name, x, heads):
    batch, time, size = x.shape
    q, k, v = (
        dense(p, f"{name}.{part}", x).reshape(batch, time, heads, size // heads) for part in ("query", "key", "value")
    )
    weights = nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.float32(size // heads) ** 0.5)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return dense(p, f"{name}.output", mixed.reshape(batch, time, size))


def transformer(p, x):
    y = p["layers.0.weight"][x]
    for k in (1, 2):
        name = f"layers.{k}"
        y = y + attention(p, name + ".attention", norm(p, name + ".attentionNorm", y), 4)
        y = y + dense(p, name + ".outer", nn.relu(dense(p, name + ".inner", norm(p, name + ".innerNorm", y))))
    return dense(p, "layers.4", norm(p, "layers.3", y))


FORWARD = {"mlp": mlp, "lstm": lstm, "transformer": transformer}


def step_of(name):
    """A compiled step: parameters, velocities, batch to loss, parameters, velocities."""
    forward = FORWARD[name]

    def step(p, v, x, y):
        loss, grads = jax.value_and_grad(lambda p: cross_entropy(forward(p, x), y))(p)
        v = {key: 0.9 * v[key] + grads[key] for key in p}
        return loss, {key: p[key] - 0.01 * v[key] for key in p}, v

    return jax.jit(step, donate_argnums=(0, 1))
