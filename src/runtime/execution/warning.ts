/** Tells the user of something that is wrong and changes no result: a warning of the process, or the console's. */
export function warn(problem: string, code: string): void {
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  if (process?.emitWarning === undefined) console.warn(`KaonWarning: ${problem}`);
  else process.emitWarning(problem, { type: 'KaonWarning', code });
}
