"""PyTorch: eager, compiled, and its own LSTM module."""


def load(threads):
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)

    def tensors(inputs):
        return {name: torch.from_numpy(value) for name, value in inputs.items()}

    def wrap(form, f):
        return torch.compile(f, dynamic=False) if form == "compiled" else f

    def both(make):
        """make(wrap) gives a function of (inputs, case)."""
        return {form: make(lambda f, form=form: wrap(form, f)) for form in ("eager", "compiled")}

    def operator(f):
        def make(compiler):
            def prepare(inputs, _):
                arguments = list(tensors(inputs).values())
                g = compiler(f)

                def run():
                    with torch.inference_mode():
                        return g(*arguments)

                return run, lambda: run().numpy()

            return prepare

        return both(make)

    def chain(u, v):
        return torch.tanh(u * v + v) * u - v

    def cross_entropy(compiler):
        def prepare(inputs, _):
            x = torch.from_numpy(inputs["x"]).requires_grad_()
            labels = torch.from_numpy(inputs["labels"]).long()
            loss_of = compiler(lambda x: F.cross_entropy(x, labels))

            def run():
                x.grad = None
                loss = loss_of(x)
                loss.backward()
                return loss

            def result():
                loss = run()
                return np.concatenate([[loss.item()], x.grad.numpy().ravel() * len(labels)])

            return run, result

        return prepare

    def perceptron(inputs):
        layers = []
        for i in range(3):
            w, b = inputs["w%d" % i], inputs["b%d" % i]
            layer = nn.Linear(*w.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(w.T.copy()))
                layer.bias.copy_(torch.from_numpy(b))
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def mlp_forward(compiler):
        def prepare(inputs, _):
            net = compiler(perceptron(inputs))
            x = torch.from_numpy(inputs["x"])

            def run():
                with torch.inference_mode():
                    return net(x)

            return run, lambda: run().numpy()

        return prepare

    def mlp_step(compiler):
        def trainer(inputs, case):
            net = perceptron(inputs)
            x, labels = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["labels"]).long()
            optimizer = torch.optim.SGD(net.parameters(), lr=case["rate"])
            loss_of = compiler(lambda x, t: F.cross_entropy(net(x), t))
            update = compiler(optimizer.step)

            def step():
                optimizer.zero_grad(set_to_none=True)
                loss = loss_of(x, labels)
                loss.backward()
                update()
                return loss.item()

            return step

        def prepare(inputs, case):
            def result():
                step = trainer(inputs, case)
                return [step() for _ in range(case["checked"])]

            return trainer(inputs, case), result

        return prepare

    def lstm_module(inputs):
        w, u, b = inputs["w"], inputs["u"], inputs["b"]
        module = nn.LSTM(w.shape[0], u.shape[0])
        with torch.no_grad():
            module.weight_ih_l0.copy_(torch.from_numpy(w.T.copy()))
            module.weight_hh_l0.copy_(torch.from_numpy(u.T.copy()))
            module.bias_ih_l0.copy_(torch.from_numpy(b))
            module.bias_hh_l0.zero_()
        return module

    def lstm_forward(inputs, _):
        module, x = lstm_module(inputs), torch.from_numpy(inputs["x"])

        def run():
            with torch.inference_mode():
                return module(x)[0]

        return run, lambda: run().numpy()

    def lstm_backward(inputs, _):
        module = lstm_module(inputs)
        x, head = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["head"])
        parameters = [module.weight_ih_l0, module.weight_hh_l0, module.bias_ih_l0]

        def run():
            return torch.autograd.grad((module(x)[0] * head).sum(), parameters)

        def result():
            w, u, b = run()
            return np.concatenate([w.T.numpy().ravel(), u.T.numpy().ravel(), b.numpy()])

        return run, result

    def residual_block(compiler):
        def prepare(inputs, _):
            t = tensors(inputs)

            def stage(x, i):
                y = F.conv2d(x, t["w%d" % i], padding=1)
                norm = [t[name + str(i)] for name in ("mean", "variance", "gamma", "beta")]
                return F.batch_norm(y, *norm, training=False, eps=1e-5)

            block = compiler(lambda x: torch.relu(stage(torch.relu(stage(x, 0)), 1) + x))

            def run():
                with torch.inference_mode():
                    return block(t["x"])

            return run, lambda: run().numpy()

        return prepare

    kinds = {
        "matmul": operator(lambda a, b: a @ b),
        "chain": operator(chain),
        "eagerAdd": {"": operator(lambda a, b: a + b)["eager"]},
        "softmax": operator(lambda x: torch.softmax(x, -1)),
        "layerNorm": operator(lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b, 1e-5)),
        "meanAll": operator(lambda x: x.mean()),
        "sumRows": operator(lambda x: x.sum(1)),
        "sumColumns": operator(lambda x: x.sum(0)),
        "variance": operator(lambda x: x.var(1, correction=0)),
        "norm": operator(lambda x: torch.linalg.vector_norm(x, dim=1)),
        "attention": operator(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)),
        "crossEntropy": both(cross_entropy),
        "convolution": operator(lambda x, w: F.conv2d(x, w, padding=1)),
        "residualBlock": both(residual_block),
        "mlpForward": both(mlp_forward),
        "mlpStep": both(mlp_step),
        "lstmForward": {"module": lstm_forward},
        "lstmBackward": {"module": lstm_backward},
    }
    return {"PyTorch": torch.__version__}, kinds
