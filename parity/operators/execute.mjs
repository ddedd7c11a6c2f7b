// Kaon's side: every case call by call, and all cases of an operator captured as one function.
import { baseOf, viewOf } from './views.mjs';
import { generator, isFloat } from './values.mjs';

/** What executes cases, given Kaon's modules. */
export function executor({ kn, functions, arrayOf, arrayType, allocate, writeElement }) {
  const made = ({ dtype, shape, elements }) => {
    const host = allocate(dtype, elements.length);
    elements.forEach((element, i) => writeElement(dtype, host, i, element));
    return arrayOf(arrayType(dtype, shape), host);
  };
  const read = (array) => ({ dtype: array.dtype, shape: [...array.shape], data: array.storage.host.slice() });

  const filled = (args, arrays) =>
    args.map((arg) =>
      Array.isArray(arg) ? filled(arg, arrays) : typeof arg === 'object' && arg !== null && '$' in arg ? arrays[arg.$] : arg,
    );

  const listed = (result) => (result instanceof kn.NDArray ? [result] : Object.values(result));

  /** Values, then gradients, then gradients of gradients. */
  function compute(name, each, inputs, heads) {
    const operands = inputs.map((array) => (each.view === undefined ? array : viewOf(each.view, array)));
    const call = () => listed(functions.get(name)(...filled(each.args, operands)));
    if (each.order === 0) return { y: call(), g: [], s: [] };
    const xs = operands.filter(({ dtype }) => isFloat(dtype));
    const derive = () => {
      const y = call();
      const flowing = y.filter(({ dtype }) => isFloat(dtype));
      if (flowing.length === 0) return { y, g: [] };
      const headGrads = flowing.map((array) => headOf(array));
      return { y, g: kn.autograd.grad(flowing, xs, { headGrads, createGraph: each.order > 1 }) };
    };
    let next = 0;
    const headOf = (like) => heads(like, next++);
    if (each.order === 1) {
      let y;
      kn.autograd.record(() => { y = call(); });
      const flowing = y.filter(({ dtype }) => isFloat(dtype));
      if (flowing.length === 0) return { y, g: [], s: [] };
      return { y, g: kn.autograd.grad(flowing, xs, { headGrads: flowing.map((array) => headOf(array)) }), s: [] };
    }
    let first;
    kn.autograd.record(() => {
      first = derive();
      // A gradient that passes an operator unchanged is no recorded call's; a product with 1 is.
      first.weighed = first.g.map((array) => array.mul(1));
    });
    if (first.g.length === 0) return { y: first.y, g: [], s: [] };
    const s = kn.autograd.grad(first.weighed, xs, { headGrads: first.g.map((array) => headOf(array)) });
    return { y: first.y, g: first.g, s };
  }

  const parts = ({ y, g, s }) => ({ y: y.map(read), g: g.map(read), s: s.map(read) });

  /** Call by call; also makes the gradients that enter, which have the types of what came out. */
  function eager(name, each) {
    const inputs = each.arrays.map((array) => made(each.view === undefined ? array : baseOf(each.view, array)));
    const random = generator(`heads ${each.seed}`);
    const heads = [];
    const draw = (like) => {
      const elements = Array.from({ length: like.size }, () => 2 * random() - 1);
      const head = made({ dtype: like.dtype, shape: [...like.shape], elements });
      heads.push(head);
      return head;
    };
    const result = parts(compute(name, each, inputs, draw));
    return { inputs, heads, result };
  }

  /** All cases as one captured function; where that fails, each as its own, so that the failure has a name. */
  function captured(name, runs, tier) {
    const together = (group) => {
      const work = (inputs, heads) =>
        group.map(({ each }, k) => compute(name, each, inputs[k], (_, j) => heads[k][j]));
      const graph = kn.hybridize(work, { verify: 'off', tier, name });
      return graph(group.map(({ inputs }) => inputs), group.map(({ heads }) => heads)).map(parts);
    };
    const divide = (group) => {
      if (group.length === 0) return [];
      try {
        return together(group).map((result) => ({ result }));
      } catch (error) {
        if (group.length === 1) return [{ error }];
        const half = group.length >> 1;
        return [...divide(group.slice(0, half)), ...divide(group.slice(half))];
      }
    };
    return divide(runs);
  }

  return { eager, captured, read, plain: (each) => each.arrays.map(made) };
} // prettier-ignore
