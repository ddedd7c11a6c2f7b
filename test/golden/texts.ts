import wabt from 'wabt';
import { c99, type Dialect, gnu, moduleToC } from '../../src/codegen/c/index.js';
import { encodeModule } from '../../src/codegen/wasm/index.js';
import type { Program } from '../../src/ir/program.js';
import { printProgram } from '../../src/ir/formats/text.js';
import { onCpu } from '../../src/kernels/cpu/index.js';
import { optimizeModule } from '../../src/loop/optimize/module.js';
import type { Module } from '../../src/loop/language/nodes.js';
import { avx512Target, type Target, wasmTarget } from '../../src/loop/language/target.js';
import { moduleText } from '../../src/loop/language/text.js';
import { lowerProgram, type ProgramPlan } from '../../src/passes/lower/main/plan.js';
import { planParts } from '../../src/runtime/compile/compile.js';
import { refit } from './brackets.js';

const toolkit = await wabt();

/** What becomes of a program on its way to code, stage by stage, for each of the parts that it runs in. */
export function generatedText(program: Program): string {
  const sections = [section('as written', printProgram(program))];
  for (const { title, plan } of planParts(program)) {
    const part = title === '' ? '' : `${title}: `;
    const scalar = optimized(plan, wasmTarget);
    const wide = optimized(plan, avx512Target);
    sections.push(
      section(`${part}after the pipeline`, printProgram(plan.program)),
      section(`${part}loops for wasm`, moduleText(scalar)),
      section(`${part}wasm`, wasmText(scalar)),
      section(`${part}C99`, cText(scalar, c99)),
      section(`${part}GNU C for AVX-512`, cText(wide, gnu)),
    );
  }
  return sections.join('\n');
}

function section(title: string, text: string): string {
  return `==== ${title} ====\n\n${text.trimEnd()}\n`;
}

function optimized({ program, groups }: ProgramPlan, target: Target): Module {
  return optimizeModule(lowerProgram(program, groups, onCpu(target)).module, target);
}

function cText(module: Module, dialect: Dialect): string {
  return moduleToC(module, dialect).source;
}

function wasmText(module: Module): string {
  const read = toolkit.readWasm(encodeModule(module), { simd: true });
  try {
    read.generateNames();
    read.applyNames();
    return refit(read.toText({ foldExprs: true }));
  } finally {
    read.destroy();
  }
}
