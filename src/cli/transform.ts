import { basename, dirname, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { convertedText, graphDirective } from '../base/directive.js';
import { FormatError } from '../base/errors.js';
import { constructLines } from '../source/explain/construct.js';
import { explainFile, type ExplainedFunction } from '../source/explain-file.js';
import { transform } from '../source/index.js';
import { inputMapOf } from '../source/maps/input-map.js';
import type { SourceMap } from '../source/maps/source-map.js';
import { readBytes, writeContent } from './graphs.js';
import { UsageError } from './usage.js';

/** The part of `kaon transform` that was asked for. */
export interface TransformRequest {
  readonly path: string;
  readonly out: string | undefined;
  readonly explain: boolean;
  readonly check: boolean;
}

/** Text for the terminal, and true where `check` has found something. */
export interface TransformReport {
  readonly text: string;
  readonly hasRefusals: boolean;
}

/**
 * Converts a file, explains its functions, or lists what of them cannot become a graph.
 * @throws UsageError, FileError, and the errors of `transform`.
 */
export async function transformFile(request: TransformRequest): Promise<TransformReport> {
  const { path, out, explain, check } = request;
  if (out === undefined && !explain && !check) {
    throw new UsageError('say what to do: -o OUT, --explain or --check');
  }
  if (out !== undefined && [out, `${out}.map`].some((each) => resolve(each) === resolve(path))) {
    throw new UsageError(`-o ${out} would overwrite the input`);
  }
  const code = new TextDecoder().decode(await readBytes(path));
  const inputMap = inputMapOf(code, pathToFileURL(path).href);
  const options = { filename: path, ...(inputMap && { inputMap }) };
  const functions = explainFile(code, options);
  if (functions.length === 0) throw nothingToConvert(path, code);
  const lines: string[] = [];
  if (explain) lines.push(...functions.flatMap(explanationOf));
  const refusals = functions.flatMap((each) => each.refusals);
  if (check) {
    lines.push(...refusals.map(({ construct, line, column }) => `${path}:${line}:${column}: ${construct} cannot become a graph where a captured array decides about it`)); // prettier-ignore
  }
  if (out !== undefined) {
    const { code: converted, map } = transform(code, options)!;
    const mapPath = `${out}.map`;
    await writeContent(out, `${converted}//# sourceMappingURL=${encodeURI(basename(mapPath))}\n`);
    await writeContent(
      mapPath,
      JSON.stringify(relativeMap(map, path, out, inputMap !== undefined)),
    );
    lines.push(out, mapPath);
  }
  return {
    text: lines.map((line) => `${line}\n`).join(''),
    hasRefusals: check && refusals.length > 0,
  };
}

function nothingToConvert(path: string, code: string): FormatError {
  const isConverted = convertedText(code) !== null;
  return new FormatError(
    isConverted ? `${path} is converted already` : `nothing in ${path} is to be converted`,
    {
      op: 'transform',
      expected: `a function whose body starts with the directive '${graphDirective}'`,
      actual: isConverted ? 'functions that have been converted' : 'no such function',
    },
  );
}

function explanationOf({ name, place, constructs }: ExplainedFunction): readonly string[] {
  const count = constructs.length === 0 ? 'no branches or loops' : constructs.length === 1 ? '1 branch or loop' : `${constructs.length} branches and loops`; // prettier-ignore
  return [
    `${name} at ${place}: ${count}`,
    ...constructLines(constructs).map((line) => `  ${line}`),
  ];
}

/** The map with the paths of its sources as seen from its own file. */
function relativeMap(map: SourceMap, path: string, out: string, hasUrls: boolean): SourceMap {
  const from = dirname(resolve(out));
  const seen = (file: string): string =>
    relative(from, file).split(/[\\/]/).map(encodeURIComponent).join('/'); // prettier-ignore
  const sources = hasUrls
    ? map.sources.map((url) => seen(fileURLToPath(url)))
    : [seen(resolve(path))];
  return { ...map, file: basename(out), sources };
}
