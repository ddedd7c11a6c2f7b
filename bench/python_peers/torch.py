"""PyTorch: eager, compiled, and its own LSTM module. By CUDA where the others compute on a GPU."""

import os


def load(threads):
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn

    from python_peers import torch_networks as networks

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)

    on_gpu = os.environ.get("KAON_BENCH_DEVICE") == "webgpu"
    # Another device shows without a GPU that the code runs.
    device = torch.device(os.environ.get("KAON_BENCH_TORCH_DEVICE", "cuda" if on_gpu else "cpu"))
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ImportError("this PyTorch finds no CUDA")
        # float32 as everybody else computes it: no products of 10 bits, no sums of 11.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("highest")

    def tensor(value):
        return torch.from_numpy(value).to(device)

    def tensors(inputs):
        return {name: tensor(value) for name, value in inputs.items()}

    def numbers(result):
        return result.detach().float().cpu().numpy()

    def wrap(form, f):
        return torch.compile(f, dynamic=False) if form == "compiled" else f

    # Compiling takes the time of several rows on a GPU.
    offered = ("eager",) if on_gpu and os.environ.get("KAON_BENCH_COMPILED") != "1" else ("eager", "compiled")

    def both(make):
        """make(wrap) gives a function of (inputs, case)."""
        return {form: make(lambda f, form=form: wrap(form, f)) for form in offered}

    def until_computed(make):
        """Runs that have ended when the GPU has computed."""
        if device.type != "cuda":
            return make

        def prepare(inputs, case):
            run, result = make(inputs, case)

            def waiting():
                run()
                torch.cuda.synchronize()

            return waiting, result

        return prepare

    def operator(f, dtype=None):
        def make(compiler):
            def prepare(inputs, _):
                arguments = [value.to(dtype) if dtype else value for value in tensors(inputs).values()]
                g = compiler(f)

                def run():
                    with torch.inference_mode():
                        return g(*arguments)

                return run, lambda: numbers(run())

            return prepare

        return both(make)

    def chain(u, v):
        return torch.tanh(u * v + v) * u - v

    def cross_entropy(compiler):
        def prepare(inputs, _):
            x = tensor(inputs["x"]).requires_grad_()
            labels = tensor(inputs["labels"]).long()
            loss_of = compiler(lambda x: F.cross_entropy(x, labels))

            def run():
                x.grad = None
                loss = loss_of(x)
                loss.backward()
                return loss

            def result():
                loss = run()
                return np.concatenate([[loss.item()], numbers(x.grad).ravel() * len(labels)])

            return run, result

        return prepare

    def mlp_forward(compiler):
        def prepare(inputs, case):
            net = compiler(networks.perceptron(inputs, case).to(device))
            x = tensor(inputs["x"])

            def run():
                with torch.inference_mode():
                    return net(x)

            return run, lambda: numbers(run())

        return prepare

    def steps(network):
        def make(compiler):
            def trainer(inputs, case):
                net = network(inputs, case).to(device)
                x, labels = tensor(inputs["x"]), tensor(inputs["labels"]).long().flatten()
                optimizer = torch.optim.SGD(net.parameters(), lr=case["rate"])
                loss_of = compiler(lambda x, t: F.cross_entropy(net(x).flatten(0, -2), t))
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

        return both(make)

    def lstm_module(inputs):
        w, u, b = inputs["w"], inputs["u"], inputs["b"]
        module = nn.LSTM(w.shape[0], u.shape[0])
        with torch.no_grad():
            module.weight_ih_l0.copy_(torch.from_numpy(w.T.copy()))
            module.weight_hh_l0.copy_(torch.from_numpy(u.T.copy()))
            module.bias_ih_l0.copy_(torch.from_numpy(b))
            module.bias_hh_l0.zero_()
        return module.to(device)

    def lstm_forward(inputs, _):
        module, x = lstm_module(inputs), tensor(inputs["x"])

        def run():
            with torch.inference_mode():
                return module(x)[0]

        return run, lambda: numbers(run())

    def lstm_backward(inputs, _):
        module = lstm_module(inputs)
        x, head = tensor(inputs["x"]), tensor(inputs["head"])
        parameters = [module.weight_ih_l0, module.weight_hh_l0, module.bias_ih_l0]

        def run():
            return torch.autograd.grad((module(x)[0] * head).sum(), parameters)

        def result():
            w, u, b = (numbers(gradient) for gradient in run())
            return np.concatenate([w.T.ravel(), u.T.ravel(), b])

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

            return run, lambda: numbers(run())

        return prepare

    kinds = {
        "matmul": operator(lambda a, b: a @ b),
        "chain": operator(chain),
        "matmulHalf": operator(lambda a, b: a @ b, torch.float16),
        "chainHalf": operator(chain, torch.float16),
        "softmaxHalf": operator(lambda x: torch.softmax(x, -1), torch.float16),
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
        "mlpStep": steps(networks.perceptron),
        "transformerStep": steps(networks.transformer),
        "convolutionalStep": steps(networks.convolutional),
        "lstmForward": {"module": lstm_forward},
        "lstmBackward": {"module": lstm_backward},
    }
    versions = {"PyTorch": torch.__version__}
    if device.type == "cuda":
        versions["CUDA"] = torch.version.cuda
    timed = {kind: {form: until_computed(make) for form, make in forms.items()} for kind, forms in kinds.items()}
    return versions, timed
