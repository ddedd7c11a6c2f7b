import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { installDebugging, parseFlags } from '../../../src/base/flags.js';
import { passes } from '../../../src/passes/pipeline.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { parse } from '../../support/program-texts.js';

/** exp(x) + exp(x), times one, of known sizes. */
const text = `program {
  input x: float32[4, 2]
  %0 = exp(x): float32[4, 2]  // model.ts:1:1
  %1 = exp(x): float32[4, 2]  // model.ts:2:1
  %2 = add(%0, %1): float32[4, 2]  // model.ts:3:1
  %3 = constant float32[] [1]
  %4 = mul(%2, %3): float32[4, 2]  // model.ts:4:1
  output y = %4
}`;

function printed(flags: string): string[] {
  const lines: string[] = [];
  const previous = installDebugging({
    flags: parseFlags(flags),
    print: (block) => void lines.push(...block.split('\n')),
  });
  try {
    compile(parse(text));
  } finally {
    installDebugging(previous);
  }
  return lines;
}

test('passes: a line for every stage, with time and nodes or (unchanged)', () => {
  const [head, ...lines] = printed('passes');
  assert.equal(head, 'kaon: compile (x: float32[4, 2]) -> y');
  const rows = lines.map((line) => /^ {2}(\w+) +\d+\.\d{3} ms {2}(.*)$/.exec(line)!.slice(1));
  // Passes that are about loops have nothing to do with this program.
  const reported = passes.filter(({ concerns }) => concerns === undefined);
  assert.deepEqual(
    rows.map(([name]) => name),
    [...reported.map(({ name }) => name), 'fuse', 'schedule', 'lower', 'wasm'],
  );
  const made = (stage: string): string => rows.find(([name]) => name === stage)![1];
  assert.equal(made('inline'), '(unchanged)');
  assert.equal(made('cse'), '6 -> 5 nodes');
  assert.equal(made('simplify'), '5 -> 3 nodes');
  assert.equal(made('fuse'), '1 group');
});

test('laws: which laws applied, and how often', () => {
  assert.deepEqual(printed('laws').slice(1), ['    mul: x * 1 = x: 1 time']);
});

test('programs: text that reads back, on arrival and after every pass that changed it', () => {
  const lines = printed('programs').slice(1).join('\n');
  const programs = lines.split(/^(?:after \w+: )?(?=program)/m).filter((part) => part !== '');
  const passesThatChange = [...lines.matchAll(/^after (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(passesThatChange, ['cse', 'simplify']);
  assert.equal(programs.length, 3);
  for (const program of programs) assert.equal(parse(program).outputs.length, 1);
});

test('groups, memory and kernels', () => {
  assert.deepEqual(printed('groups').slice(1), [
    '  group 0: exp#1, add#2; reads x: float32[4, 2]; writes add#2: float32[4, 2]; 64 bytes',
  ]);
  const memory = printed('memory').slice(1);
  assert.equal(memory.length, 3);
  assert.match(memory[0], /place 0: input 0, 8 of float32, steps 0 to 0, at \d+ of the arena/);
  assert.match(memory[2], /arena: \d+ bytes/);
  assert.match(printed('kernels').join('\n'), /kernel/);
});

test('the environment turns flags on, and only the error stream is written to', () => {
  const index = new URL('../../../src/index.js', import.meta.url).href;
  const code = `const kn = await import(${JSON.stringify(index)});
    console.log(kn.array([1, 2]).add(1).tolist().join());`;
  const run = (KAON_DEBUG: string | undefined) => {
    const { KAON_DEBUG: _, ...env } = process.env;
    return spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
      env: KAON_DEBUG === undefined ? env : { ...env, KAON_DEBUG },
    });
  };
  const quiet = run(undefined);
  assert.deepEqual([quiet.stdout, quiet.stderr, quiet.status], ['2,3\n', '', 0]);
  const loud = run('passes');
  assert.equal(loud.stdout, '2,3\n');
  assert.match(loud.stderr, /^kaon: compile .*\n {2}inline +[\d.]+ ms {2}\(unchanged\)\n/);
  const wrong = run('passes,everything');
  assert.notEqual(wrong.status, 0);
  assert.match(wrong.stderr, /KAON_DEBUG: there is no flag "everything"/);
});
