/** A line of the user's code by file and number. Where the file lies is nothing to tell in what is shipped. */
export function sourceLine(source: string): string {
  return source.slice(Math.max(source.lastIndexOf('/'), source.lastIndexOf('\\')) + 1);
}
