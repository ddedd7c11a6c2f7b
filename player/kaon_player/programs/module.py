"""StableHLO modules as JAX functions."""

import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo
from jaxlib.mlir.passmanager import PassManager

from kaon_player.data.dtypes import DTYPES, MLIR
from kaon_player.errors import JobError
from kaon_player.jobs.job import Argument, Program, Result

Types = list[tuple[str, tuple[int, ...]]]


def _main(module: Any) -> Any:
    return next(iter(module.body.operations))


def _types(mlir_types: Sequence[Any]) -> Types:
    tensors = [ir.RankedTensorType(each) for each in mlir_types]
    return [(MLIR[str(each.element_type)], tuple(each.shape)) for each in tensors]


def signature(text: str) -> tuple[Types, Types]:
    """Types of the arguments and results of a module's function `main`."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)  # owns its operations: it must outlive them
        main = _main(module).type
        return _types(main.inputs), _types(main.results)


def check_signature(name: str, program: Program) -> None:
    """Raises JobError where a text cannot be read, or its types are not those that the job says."""
    try:
        found = signature(with_constraints(program.text, None))
    except Exception as error:  # the bindings raise their own classes, which differ between versions
        raise JobError(f"the text of {name} cannot be read: {error}") from None
    listed: tuple[Sequence[Argument | Result], ...] = (program.inputs, program.outputs)
    for what, types, described in zip(("argument", "result"), found, listed, strict=True):
        if len(types) != len(described):
            raise JobError(f"the text of {name} has {len(types)} {what}s, the job describes {len(described)}")
        for have, want in zip(types, described, strict=True):
            if have != (want.dtype, want.shape):
                raise JobError(
                    f"the {what} {want.name} of {name} is {have[0]}{list(have[1])} in the text, "
                    f"{want.dtype}{list(want.shape)} in the job"
                )


_constraint = re.compile(
    r'^(?P<head>.*= )"stablehlo\.custom_call"\((?P<operand>%[\w#]+)\)(?P<attributes>.*"kaon\.shard".*)'
    r"(?P<type> : \(tensor<.*>\) -> tensor<.*>)(?P<tail>.*)$",
    re.MULTILINE,
)
_axes = re.compile(r'backend_config = "([^"]*)"')


def with_constraints(text: str, mesh: Mesh | None) -> str:
    """The text with its `kaon.shard` calls as constraints of a mesh; without a mesh they are identities."""

    def constrain(match: re.Match[str]) -> str:
        head, operand, kind, tail = (match[each] for each in ("head", "operand", "type", "tail"))
        config = _axes.search(match["attributes"])
        names = config[1].split(",") if config else []
        known = [name if mesh is not None and name in mesh.shape else None for name in names]
        if mesh is None or not any(known):
            return f'{head}"stablehlo.optimization_barrier"({operand}){kind}{tail}'
        _check_extents(kind, known, mesh)
        if jax.config.jax_use_shardy_partitioner:  # type: ignore[attr-defined]
            sizes = ", ".join(f'"{name}"={size}' for name, size in mesh.shape.items())
            parts = ", ".join("{?}" if name is None else f'{{"{name}"}}' for name in known)
            sharding = f"#sdy.sharding<mesh<[{sizes}]>, [{parts}]>"
            return f'{head}"sdy.sharding_constraint"({operand}) <{{sharding = {sharding}}}>{kind}{tail}'
        sharding = str(NamedSharding(mesh, PartitionSpec(*known))._to_xla_hlo_sharding(len(known)))
        open_axes = ",".join(str(axis) for axis, name in enumerate(known) if name is None)
        config_text = f"unspecified_dims=[{open_axes}]" if open_axes else ""
        return (
            f'{head}"stablehlo.custom_call"({operand}) {{call_target_name = "Sharding", has_side_effect = false, '
            f'backend_config = "{config_text}", mhlo.sharding = "{sharding}"}}{kind}{tail}'
        )

    return _constraint.sub(constrain, text)


def _check_extents(kind: str, axes: Sequence[str | None], mesh: Mesh) -> None:
    sizes = [int(each) for each in re.findall(r"(\d+)x", kind[: kind.index("->")])]
    for axis, (size, name) in enumerate(zip(sizes, axes, strict=True)):
        if name is not None and size % mesh.shape[name] != 0:
            raise JobError(
                f"{size}, axis {axis} of a shard(), does not divide by {mesh.shape[name]}, "
                f'the axis "{name}" of the mesh'
            )


def refined(text: str, types: Types) -> str:
    """The text for arguments of known sizes: sizes that it leaves open follow from them."""
    listed = ",".join(_tensor(dtype, shape) for dtype, shape in types)
    passes = f"stablehlo-refine-arguments{{types={listed}}},stablehlo-refine-shapes"
    with mlir.make_ir_context(), ir.Location.unknown():
        _register_passes()
        module = ir.Module.parse(text)
        manager = PassManager.parse(f"builtin.module({passes},func.func(stablehlo-canonicalize-dynamism))")
        try:
            manager.run(module.operation)
        except ir.MLIRError as error:
            raise JobError(f"the sizes {listed} do not fit the module: {error}") from None
        return str(module.operation.get_asm(print_generic_op_form=True))


@functools.cache
def _register_passes() -> None:
    stablehlo.register_stablehlo_passes()


def _tensor(dtype: str, shape: Sequence[int]) -> str:
    element = next(name for name, known in MLIR.items() if known == dtype)
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def load_module(text: str, mesh: Mesh | None = None) -> Callable[..., list[jax.Array]]:
    """The function `main` of a module: takes and returns arrays, in order.

    It can be traced: under `jit`, its module is merged into the caller's, so it takes part in sharding. Where the text
    leaves sizes open, those of the arrays of each call count.
    """
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise RuntimeError("jax_enable_x64 must be on: states of random generators are int64")
    if not _is_open(text):
        return _load(with_constraints(text, mesh))
    known: dict[tuple[tuple[str, tuple[int, ...]], ...], Callable[..., list[jax.Array]]] = {}

    def call(*arrays: Any) -> list[jax.Array]:
        types = tuple((str(each.dtype), tuple(each.shape)) for each in arrays)
        if types not in known:
            known[types] = _load(with_constraints(refined(text, list(types)), mesh))
        return known[types](*arrays)

    return call


def _is_open(text: str) -> bool:
    """True where a module leaves sizes of its arguments open: MLIR has a negative number for them."""
    return any(size < 0 for _, shape in signature(text)[0] for size in shape)


def _load(text: str) -> Callable[..., list[jax.Array]]:
    results = [jax.core.ShapedArray(shape, DTYPES[dtype]) for dtype, shape in signature(text)[1]]
    primitive = Primitive("kaon_" + hashlib.sha256(text.encode()).hexdigest()[:12])
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda *_: results)

    def lower(context: Any, *operands: Any) -> Any:
        outer = context.module_context
        with outer.context:
            module = ir.Module.parse(text)
            types = list(_main(module).type.results)
            name = mlir.merge_mlir_modules(outer.module, primitive.name, module)
            return func.CallOp(types, ir.FlatSymbolRefAttr.get(name), operands).results

    mlir.register_lowering(primitive, lower)
    bind: Callable[..., list[jax.Array]] = primitive.bind
    return bind
