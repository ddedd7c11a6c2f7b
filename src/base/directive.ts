/** The directive of functions that are to be converted. */
export const graphDirective = 'use graph';

/** The directive of a function that was converted, with the constructs that conversion has noted. */
const converted = /(["'])use graph converted ?([^"'\n]*)\1/;

/** The text about branches and loops in the directive of converted code; null for other code. */
export function convertedText(code: string): string | null {
  return converted.exec(code)?.[2] ?? null;
}
