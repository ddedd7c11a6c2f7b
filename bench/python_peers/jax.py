"""JAX, compiled by XLA for the processor."""

import os


def load(threads):
    # XLA makes as many threads as the process may use cores, and has no other switch for all of them.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
    import jax
    import jaxlib
    import numpy as np
    from jax import lax, nn
    from jax import numpy as jnp

    def arrays(inputs):
        return {name: jnp.asarray(value) for name, value in inputs.items()}

    def function(f, jit=True):
        """A function of all inputs in their order."""

        def prepare(inputs, case):
            arguments = list(arrays(inputs).values())
            g = jax.jit(f) if jit else f
            return (lambda: jax.block_until_ready(g(*arguments))), (lambda: np.asarray(g(*arguments)))

        return {"": prepare}

    def named(f, collect):
        """A function of a dictionary of inputs; `collect(outputs)` is what is compared."""

        def prepare(inputs, case):
            values = arrays(inputs)
            g = jax.jit(lambda values: f(values, case))
            return (lambda: jax.block_until_ready(g(values))), (lambda: collect(g(values)))

        return {"": prepare}

    def layer_norm(x, gamma, beta):
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * gamma + beta

    def attention(q, k, v):
        scores = jnp.einsum("hqd,hkd->hqk", q, k) / np.sqrt(q.shape[-1]).astype(np.float32)
        return jnp.einsum("hqk,hkd->hqd", nn.softmax(scores), v)

    def convolve(x, w):
        return lax.conv(x, w, (1, 1), "SAME")

    def stage(v, x, i):
        mean, variance, gamma, beta = (
            v[name + str(i)][:, None, None] for name in ("mean", "variance", "gamma", "beta")
        )
        return (convolve(x, v["w%d" % i]) - mean) * lax.rsqrt(variance + 1e-5) * gamma + beta

    def residual_block(v, _):
        return nn.relu(stage(v, nn.relu(stage(v, v["x"], 0)), 1) + v["x"])

    def perceptron(weights, biases, x):
        for i, (w, b) in enumerate(zip(weights, biases)):
            x = x @ w + b
            if i < 2:
                x = nn.relu(x)
        return x

    def layers(v):
        return [v["w%d" % i] for i in range(3)], [v["b%d" % i] for i in range(3)]

    def negative_likelihood(scores, labels):
        return -jnp.take_along_axis(nn.log_softmax(scores), labels[:, None], 1).mean()

    def mlp_step(inputs, case):
        def trainer():
            values = arrays(inputs)
            state = layers(values)

            @jax.jit
            def update(state, x, labels):
                loss_of = lambda state: negative_likelihood(perceptron(*state, x), labels)
                loss, grads = jax.value_and_grad(loss_of)(state)
                return loss, jax.tree.map(lambda p, g: p - case["rate"] * g, state, grads)

            def step():
                nonlocal state
                loss, state = jax.block_until_ready(update(state, values["x"], values["labels"]))
                return float(loss)

            return step

        def result():
            step = trainer()
            return [step() for _ in range(case["checked"])]

        return trainer(), result

    def lstm(x, w, u, b):
        size = u.shape[0]

        def cell(state, xt):
            h, c = state
            i, f, g, o = jnp.split(xt @ w + h @ u + b, 4, -1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[1], size), x.dtype)
        return lax.scan(cell, (zeros, zeros), x)[1]

    def lstm_forward(v, _):
        return lstm(v["x"], v["w"], v["u"], v["b"])

    def lstm_backward(v, _):
        loss = lambda w, u, b: (lstm(v["x"], w, u, b) * v["head"]).sum()
        return jax.grad(loss, (0, 1, 2))(v["w"], v["u"], v["b"])

    def cross_entropy(v, _):
        loss, grad = jax.value_and_grad(lambda x: negative_likelihood(x, v["labels"]))(v["x"])
        return loss, grad

    def while_loop(v, case):
        more = lambda state: state[0] < case["iterations"]
        body = lambda state: (state[0] + 1, state[1] * np.float32(0.999) + 1)
        # Counting from an argument, so that the loop is not computed while it is compiled.
        return lax.while_loop(more, body, (v["i"], jnp.float32(0)))[1]

    def while_prepare(inputs, case):
        return named(while_loop, np.asarray)[""]({"i": np.int32(0)}, case)

    kinds = {
        "matmul": function(lambda a, b: a @ b),
        "chain": function(lambda u, v: jnp.tanh(u * v + v) * u - v),
        "eagerAdd": function(lambda a, b: a + b, jit=False),
        "softmax": function(nn.softmax),
        "layerNorm": function(layer_norm),
        "meanAll": function(jnp.mean),
        "sumRows": function(lambda x: x.sum(1)),
        "sumColumns": function(lambda x: x.sum(0)),
        "variance": function(lambda x: x.var(1)),
        "norm": function(lambda x: jnp.linalg.norm(x, axis=1)),
        "attention": function(attention),
        "convolution": function(convolve),
        "crossEntropy": named(
            cross_entropy,
            lambda out: np.concatenate([[out[0]], np.asarray(out[1]).ravel() * out[1].shape[0]]),
        ),
        "residualBlock": named(residual_block, np.asarray),
        "mlpForward": named(lambda v, _: perceptron(*layers(v), v["x"]), np.asarray),
        "mlpStep": {"": mlp_step},
        "lstmForward": named(lstm_forward, np.asarray),
        "lstmBackward": named(
            lstm_backward, lambda grads: np.concatenate([np.asarray(g).ravel() for g in grads])
        ),
        "whileLoop": {"": while_prepare},
    }
    return {"JAX": jax.__version__, "jaxlib": jaxlib.__version__}, kinds
