import { registry } from '../../../src/ops/registry.js';
import { readElement } from '../../../src/base/element.js';
import { compile, evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { exportModule } from '../../../src/formats/stablehlo/export.js';
import { bindSizes, generator, sampleCases, sampleOperands, sampleProgram } from '../../support/samples.js';
import { runUnderXla } from './xla.js';
const filter = process.argv[2];
const cases: any[] = [];
for (const sampleCase of sampleCases(registry.values())) {
  if (filter && !sampleCase.label.startsWith(filter + ' ')) continue;
  for (const base of [3, 1, 0]) {
    let next = base;
    const sizes = bindSizes(sampleCase.sample, () => (base < 2 ? base : next++));
    if (sizes.size === 0 && base !== 3) continue;
    const program = sampleProgram(sampleCase, { sizes });
    const operands = sampleOperands(sampleCase.sample, sizes, generator(5));
    try {
      const lowered = runPipeline(program, passes, { evaluate: evaluateConstant });
      const text = exportModule(lowered);
      const expected = compile(program, { target: 'interpreter' }).run(operands);
      cases.push({ label: sampleCase.label + ' ' + base, text, operands, expected });
    } catch (error) { console.log('REFUSED', sampleCase.label, base, (error as any).message?.slice(0, 200)); }
  }
}
if (process.argv[3]) console.log(cases.map((c) => c.label + '\n' + c.text).join('\n'));
const results = runUnderXla(cases);
const stats: any = {};
results.forEach((result, i) => {
  const { label, expected } = cases[i];
  if (typeof result === 'string') { console.log('ERROR', label, result.slice(0, 600)); stats.error = (stats.error ?? 0) + 1; return; }
  let worst = 0; let bad = '';
  expected.forEach((want: any, k: number) => {
    const have = result[k];
    if (String(have.shape) !== String(want.shape) || have.storage.dtype !== want.storage.dtype) { bad = `shape ${have.shape} ${have.storage.dtype} want ${want.shape} ${want.storage.dtype}`; return; }
    const n = want.shape.reduce((a: number, b: number) => a * b, 1);
    let scale = 0; const eps: any = { float64: 2 ** -52, float32: 2 ** -23, float16: 2 ** -10, bfloat16: 2 ** -7 };
    for (let j = 0; j < n; j++) { const v = Math.abs(Number(readElement(want.storage.dtype, want.storage.host, j))); if (Number.isFinite(v)) scale = Math.max(scale, v); }
    for (let j = 0; j < n; j++) {
      const [a, b] = [have, want].map((o: any) => readElement(o.storage.dtype, o.storage.host, j));
      if (Object.is(a, b) || a === b) continue;
      if (Number.isNaN(Number(a)) && Number.isNaN(Number(b))) continue;
      const e = eps[want.storage.dtype];
      const d = e === undefined ? Infinity : Math.abs(Number(a) - Number(b)) / (e * scale);
      if (!(d <= worst)) { worst = d; bad = `element ${j} is ${a} not ${b}`; }
    }
  });
  const kind = bad === '' ? 'equal' : worst > 30 || bad.startsWith('shape') ? 'WRONG' : 'close';
  stats[kind] = (stats[kind] ?? 0) + 1;
  if (kind === 'WRONG' || (kind === 'close' && worst > 6)) console.log(kind, label, worst.toFixed(1), bad);
});
console.log(stats);
