"""NumPy: its products are OpenBLAS's."""


def load(threads):
    import numpy as np

    def matmul(inputs, _):
        a, b = inputs["a"], inputs["b"]
        return (lambda: a @ b), (lambda: a @ b)

    # The number of threads has been given in the environment.
    return {"NumPy": np.__version__}, {"matmul": {"": matmul}}
