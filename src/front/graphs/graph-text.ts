import { KaonError } from '../../base/errors.js';
import { printable } from '../../base/escape.js';
import type { NodeId } from '../../graph/graph.js';
import { type CallNode, type Program, typeToString, type Value } from '../../ir/program.js';
import { printProgram } from '../../ir/formats/text.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import { throughRegions, transform } from '../../passes/rewrite/transform.js';
import { planParts, type PlannedPart } from '../../runtime/compile/compile.js';
import { trafficOf } from '../../passes/groups/traffic.js';

/**
 * A program as text that `parseProgram` reads back, with a comment on every operator that names its fused
 * groups, followed by a line for each group:
 *
 * program { input x: float32[4] %0 = exp(x): float32[4] // model.ts:3:11 [group 0] output y = %0 } // group
 * 0: exp %0; reads x; writes exp %0: float32[4]; 32 bytes
 *
 * A program with data-dependent sizes runs in several parts, each with a line of its own before its groups.
 * An operator in no group costs nothing: it is a view, constant, merged with an equal one, or dead. Members
 * are named by their compiled operator and by the value of the text that they serve.
 */
export function graphText(program: Program): string {
  let parts: readonly PlannedPart[];
  try {
    parts = planParts(withSources(program, (_call, tag) => tag));
  } catch (error) {
    if (!(error instanceof KaonError)) throw error;
    const reason = printable(error.message.replace(/\s*[\r\n]+\s*/g, '; '));
    return `${printProgram(program)}// no groups, since it does not compile: ${reason}\n`;
  }
  const groups = new Map<string, number[]>();
  let step = 0;
  for (const { plan } of parts) {
    for (const { members } of plan.groups) {
      for (const tag of new Set(members.map((id) => tagOf(plan.program, id)))) {
        const known = groups.get(tag);
        if (known === undefined) groups.set(tag, [step]);
        else known.push(step);
      }
      step++;
    }
  }
  const noted = withSources(program, ({ source }, tag) => {
    const note = noteOf(groups.get(tag) ?? []);
    return source === undefined ? note : `${source} ${note}`;
  });
  const names = resultNames(program);
  let first = 0;
  const comments = parts.flatMap(({ title, plan }) => {
    const lines = groupComments(plan, names, first);
    first += lines.length;
    return title === '' ? lines : [`// ${title}:\n`, ...lines];
  });
  return `${printProgram(noted)}${comments.join('')}`;
}

function noteOf(groups: readonly number[]): string {
  if (groups.length === 0) return '[no group]';
  return `[group${groups.length === 1 ? '' : 's'} ${groups.join(', ')}]`;
}

function groupComments(
  plan: ProgramPlan,
  names: ReadonlyMap<string, string>,
  first: number,
): readonly string[] {
  const { program } = plan;
  const nameOf = (id: NodeId): string => {
    const node = program.node(id);
    if (node.kind === 'variable') return printable(node.name);
    if (node.kind === 'constant') return 'a constant';
    if (node.kind === 'check') return 'a check';
    const name = names.get(tagOf(program, id));
    return name === undefined ? node.op.name : `${node.op.name} ${name}`;
  };
  const typed = ({ node, type }: Value): string => `${nameOf(node)}: ${typeToString(type)}`;
  return plan.groups.map((group, step) => {
    const reads = new Set(group.reads.map(({ node }) => nameOf(node)));
    return (
      `// group ${first + step}: ${group.members.map(nameOf).join(', ')}` +
      `; reads ${[...reads].join(', ') || 'nothing'}` +
      `; writes ${group.writes.map(typed).join(', ')}` +
      `; ${String(trafficOf(group))} bytes\n`
    );
  });
}

/**
 * A copy of a program with other sources. `tag` identifies every call of the program and of its regions, and
 * is the same in every copy; passes keep sources, so compiled calls can be traced back to their originals.
 */
function withSources(
  program: Program,
  sourceOf: (call: CallNode, tag: string) => string | undefined,
): Program {
  const numbers = new Map<Program, number>();
  return throughRegions(program, (inner, region) => {
    const number = numbers.size;
    numbers.set(inner, number);
    return transform(
      inner,
      ({ node, id, operands, into }) =>
        node.kind === 'constant'
          ? undefined
          : into.appendTyped(node.op, operands, node.attributes, node.types, {
              regions: node.regions,
              decides: node.decides,
              source: sourceOf(node, tag(number, id)),
            }),
      { region },
    );
  });
}

const tag = (region: number, id: NodeId): string => `${region}:${id}`;

function tagOf(program: Program, id: NodeId): string {
  const node = program.node(id);
  return (node.kind === 'call' ? node.source : undefined) ?? '';
}

/** By tag, the name of each call's first result in the text, for calls outside of regions. */
function resultNames(program: Program): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  let count = 0;
  for (const id of program.graph.nodes()) {
    const { kind } = program.node(id);
    if (kind === 'variable' || kind === 'check') continue;
    names.set(tag(0, id), `%${count}`);
    count += program.results(id).length;
  }
  return names;
}
