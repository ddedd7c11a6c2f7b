"""Apache MXNet: eager, and Gluon blocks hybridized."""

import warnings


def load(threads):
    warnings.simplefilter("ignore")
    import mxnet as mx
    import numpy as np
    from mxnet import autograd, gluon, nd

    # The number of threads has been given in the environment.

    def function(f):
        """Eager operators on all inputs in their order."""

        def prepare(inputs, _):
            arguments = [nd.array(value) for value in inputs.values()]

            def run():
                f(*arguments).wait_to_read()

            return run, lambda: f(*arguments).asnumpy()

        return prepare

    class Function(gluon.HybridBlock):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def hybrid_forward(self, F, *arguments):
            return self.f(F, *arguments)

    def both(f):
        """f(F, ...) as operators and as one static graph."""

        def hybridized(inputs, case):
            block = Function(f)
            block.hybridize(static_alloc=True, static_shape=True)
            return function(block)(inputs, case)

        return {"eager": function(lambda *arguments: f(nd, *arguments)), "hybridized": hybridized}

    def convolve(F, x, w):
        filters = w.shape[0] if F is nd else None
        return F.Convolution(x, w, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=filters)

    def convolution(inputs, case):
        return function(lambda x, w: convolve(nd, x, w))(inputs, case)

    def perceptron(inputs):
        net = gluon.nn.HybridSequential()
        for i in range(3):
            w, b = inputs["w%d" % i], inputs["b%d" % i]
            layer = gluon.nn.Dense(w.shape[1], in_units=w.shape[0], activation="relu" if i < 2 else None)
            layer.initialize()
            layer.weight.set_data(nd.array(w.T))
            layer.bias.set_data(nd.array(b))
            net.add(layer)
        net.hybridize(static_alloc=True, static_shape=True)
        return net

    def mlp_forward(inputs, _):
        net, x = perceptron(inputs), nd.array(inputs["x"])
        return (lambda: net(x).wait_to_read()), (lambda: net(x).asnumpy())

    def mlp_step(inputs, case):
        x, labels = nd.array(inputs["x"]), nd.array(inputs["labels"])

        def trainer():
            net = perceptron(inputs)
            loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
            loss_of.hybridize(static_alloc=True, static_shape=True)
            optimizer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": case["rate"]})

            def step():
                with autograd.record():
                    loss = loss_of(net(x), labels)
                loss.backward()
                optimizer.step(len(labels))
                nd.waitall()
                return loss.mean().asscalar()

            return step

        def result():
            step = trainer()
            return [step() for _ in range(case["checked"])]

        return trainer(), result

    def lstm(inputs):
        w, u, b = inputs["w"], inputs["u"], inputs["b"]
        layer = gluon.rnn.LSTM(u.shape[0], input_size=w.shape[0])
        layer.initialize()
        layer.l0_i2h_weight.set_data(nd.array(w.T))
        layer.l0_h2h_weight.set_data(nd.array(u.T))
        layer.l0_i2h_bias.set_data(nd.array(b))
        layer.hybridize(static_alloc=True, static_shape=True)
        return layer

    def lstm_forward(inputs, _):
        layer, x = lstm(inputs), nd.array(inputs["x"])
        return (lambda: layer(x).wait_to_read()), (lambda: layer(x).asnumpy())

    def lstm_backward(inputs, _):
        layer, x, head = lstm(inputs), nd.array(inputs["x"]), nd.array(inputs["head"])

        def run():
            with autograd.record():
                loss = (layer(x) * head).sum()
            loss.backward()
            nd.waitall()

        def result():
            run()
            parameters = layer.l0_i2h_weight, layer.l0_h2h_weight, layer.l0_i2h_bias
            w, u, b = (parameter.grad().asnumpy() for parameter in parameters)
            return np.concatenate([w.T.ravel(), u.T.ravel(), b])

        return run, result

    kinds = {
        "matmul": {"": function(nd.dot)},
        "chain": both(lambda F, u, v: F.tanh(u * v + v) * u - v),
        "eagerAdd": {"": function(lambda a, b: a + b)},
        "softmax": {"": function(nd.softmax)},
        "layerNorm": {"": function(lambda x, g, b: nd.LayerNorm(x, g, b, eps=1e-5))},
        "convolution": {"": convolution},
        "mlpForward": {"hybridized": mlp_forward},
        "mlpStep": {"hybridized": mlp_step},
        "lstmForward": {"": lstm_forward},
        "lstmBackward": {"": lstm_backward},
    }
    return {"MXNet": mx.__version__, "NumPy": np.__version__}, kinds
