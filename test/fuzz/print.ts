import { type FuzzProgram, type Input, isRef, type Argument, type Region, type Step } from './program.js'; // prettier-ignore

/** The program as text, one call a line. */
export function printProgram(program: FuzzProgram): string {
  const { seed, sizes, inputs, steps, outputs, wrt, training, nested } = program;
  const facts = [
    `seed ${seed}`,
    ...sizes.map(({ n, m }) => `n = ${n}, m = ${m}`),
    ...(training ? ['training'] : []),
    ...(nested ? ['nested'] : []),
  ];
  return [
    `// ${facts.join('; ')}`,
    ...inputs.map(inputText),
    ...steps.flatMap(stepLines),
    `return ${names(outputs)};`,
    ...(wrt.length > 0 ? [`// gradients of ${wrt.map((id) => `v${id}`).join(', ')}`] : []),
  ].join('\n');
}

function names(ids: readonly number[]): string {
  return `[${ids.map((id) => `v${id}`).join(', ')}]`;
}

function literal(value: Argument): string {
  if (isRef(value)) return `v${value.ref}`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  return `{ ${Object.entries(value).map(([key, entry]) => `${key}: ${literal(entry as Argument)}`).join(', ')} }`; // prettier-ignore
}

function inputText({ id, role, dtype, shape, low, high, values }: Input): string {
  const elements =
    values === undefined ? `drawn from ${low} to ${high}` : `elements ${literal(values)}`;
  return `const v${id} = ${role} ${dtype}[${shape.join(', ')}], ${elements}`;
}

function stepLines(step: Step): string[] {
  const { op, args, results, regions } = step;
  const target =
    results.length === 0
      ? ''
      : `const ${results.length === 1 ? `v${results[0]}` : names(results)} = `;
  if (regions === undefined) return [`${target}${op}(${args.map(literal).join(', ')});`];
  const nesting = step.nesting === undefined ? '' : ` // ${step.nesting}`;
  return [
    `${target}${op}(${args.map(literal).join(', ')},${nesting}`,
    ...regions.flatMap((region) => regionLines(region, op !== 'cond')),
    ');',
  ];
}

function regionLines({ params, steps, outputs, states }: Region, isLoop: boolean): string[] {
  const given = isLoop ? `${names(outputs)}, ${names(states)}` : names(outputs);
  return [
    `  (${params.map((id) => `v${id}`).join(', ')}) => {`,
    ...steps.flatMap(stepLines).map((line) => `    ${line}`),
    `    return ${given};`,
    '  },',
  ];
}
