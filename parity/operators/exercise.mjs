// The cases of an operator on every tier.

/** How many cases are captured as one function: so many that compiling them together is worth it. */
const together = 24;

/** Which cases native code is compiled for, in words: a compiler takes seconds where WebAssembly takes none. */
export const nativeCases =
  'values and first gradients of every dtype, on ordinary elements, ties, NaN and the edges of the dtype';

const isForNative = ({ label, order }) =>
  order < 2 && /, (plain|edges|nan|ties)$/.test(label); // prettier-ignore

/** Every case with its operands, the gradients that enter, its results by tier, or why it was refused. */
export function exercise(kaon, name, cases, tiers) {
  const done = cases.map((each) => {
    try {
      const { inputs, heads, result } = kaon.eager(name, each);
      return { each, arrays: inputs, entering: heads, ...written(kaon, each, inputs, heads), results: [{ tier: 'eager', result }] };
    } catch (error) {
      return { each, ...refused(kaon, each, error), results: [] };
    }
  }); // prettier-ignore
  const running = done.filter(({ refusal }) => refusal === undefined);
  for (const [tier, code] of [['captured', 'wasm'], ['native', 'native']]) {
    if (!tiers.includes(tier)) continue;
    const chosen = tier === 'native' ? running.filter(({ each }) => isForNative(each)) : running;
    for (let from = 0; from < chosen.length; from += together) {
      const group = chosen.slice(from, from + together);
      const runs = group.map(({ each, arrays, entering }) => ({ each, inputs: arrays, heads: entering }));
      kaon.captured(name, runs, code).forEach(({ result, error }, k) => {
        if (error === undefined) group[k].results.push({ tier, result });
        else (group[k].failures ??= []).push({ tier, message: String(error.message).split('\n')[0] });
      });
    }
  } // prettier-ignore
  return done;
}

/** Operands as they are, not as the views' bases. */
function written(kaon, each, inputs, heads) {
  const arrays = each.view === undefined ? inputs : kaon.plain(each);
  return { inputs: arrays.map(kaon.read), heads: heads.map(kaon.read) };
}

function refused(kaon, each, error) {
  const { name, code } = error;
  return {
    inputs: kaon.plain(each).map(kaon.read),
    heads: [],
    refusal: { error: name, isTyped: typeof code === 'string', message: String(error.message).split('\n')[0] },
  };
} // prettier-ignore
