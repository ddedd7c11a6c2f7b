"""StableHLO modules as JAX functions."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

DTYPES = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(jnp.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


def _result_types(text):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)  # owns its operations: it must outlive them
        main = next(iter(module.body.operations))
        for result in main.type.results:
            tensor = ir.RankedTensorType(result)
            yield jax.ShapeDtypeStruct(tuple(tensor.shape), DTYPES[str(tensor.element_type)])


def load_module(text):
    """The function `main` of a module: takes and returns arrays, in order.

    It can be traced: under `jit`, its module is merged into the caller's, so it takes part in sharding.
    """
    if not jax.config.jax_enable_x64:
        raise RuntimeError("jax_enable_x64 must be on: states of random generators are int64")
    results = [jax.core.ShapedArray(each.shape, each.dtype) for each in _result_types(text)]
    primitive = Primitive("kaon_" + hashlib.sha256(text.encode()).hexdigest()[:12])
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda *_: results)

    def lower(context, *operands):
        outer = context.module_context
        with outer.context:
            module = ir.Module.parse(text)
            types = list(next(iter(module.body.operations)).type.results)
            name = mlir.merge_mlir_modules(outer.module, primitive.name, module)
            return func.CallOp(types, ir.FlatSymbolRefAttr.get(name), operands).results

    mlir.register_lowering(primitive, lower)
    return lambda *operands: primitive.bind(*operands)
