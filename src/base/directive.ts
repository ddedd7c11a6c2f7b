/** The directive of functions that are to be converted. */
export const graphDirective = 'use graph';

/** The directive as it is written. */
const written = /(["'])use graph\1/g;

/**
 * False for code that surely has no directive, although its strings may mention it. A directive is a statement: it
 * begins a line or follows a brace, a semicolon, a comment or another directive, and ends as one.
 */
export function mayHaveDirective(code: string): boolean {
  for (const { 0: text, index } of code.matchAll(written)) {
    const before = code.slice(0, index);
    const kept = before.trimEnd();
    const isBegin =
      /(?:^|[{};"'/])$/.test(kept.slice(-1)) || /[\n\r]/.test(before.slice(kept.length));
    if (isBegin && /^(?:$|[^\S\n\r]*(?:$|[;}/\n\r]))/.test(code.slice(index + text.length)))
      return true;
  }
  return false;
}

/** The directive of a function that was converted, with the constructs that conversion has noted. */
const converted = /(["'])use graph converted ?([^"'\n]*)\1/;

/** The text about branches and loops in the directive of converted code; null for other code. */
export function convertedText(code: string): string | null {
  return converted.exec(code)?.[2] ?? null;
}
