/**
 * Escaping of untrusted text (names, descriptions, messages) in generated source code, comments, DOT and
 * terminals. Everything that writes such a target goes through here.
 */

/**
 * Characters that end lines, move a terminal's cursor, or change the order in which text is shown: control
 * characters (C0, DEL, C1), line and paragraph separators, bidirectional controls, the byte order mark,
 * and surrogates without a partner.
 */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufeff]/gu;

const codeUnit = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One line of text in which unprintable characters are spelled `\u001b`. */
export function printable(text: string): string {
  return text.replace(unprintable, codeUnit);
}

/** Text for a terminal: as `printable`, but lines stay lines and tabs stay tabs. */
export function printableLines(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' || character === '\t' ? character : codeUnit(character),
  );
}

/** A string literal of JSON and JavaScript, on one line, in printable characters. */
export function quoted(text: string): string {
  return printable(JSON.stringify(text));
}

/**
 * Any value as JSON that is an expression of JavaScript, on one line. Keys are not looked at: a literal with the
 * key `__proto__` is another object in JavaScript, so names belong in lists.
 */
export function jsonLiteral(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** Text inside of a template literal of JavaScript, between its interpolations. */
export function templateText(text: string): string {
  return printable(text.replace(/[\\`$]/g, (character) => `\\${character}`));
}

/** Text inside of a comment of JavaScript or C, on one line: no delimiter begins or ends in it. */
export function commentText(text: string): string {
  return printable(text)
    .replaceAll('*/', '* /')
    .replaceAll('/*', '/ *')
    .replace(/[*/\\]$/, '$& ');
}

/** A string literal in a type inside a JavaScript comment; its value is the text. */
export function commentedLiteral(text: string): string {
  return quoted(text).replaceAll('*/', '*\\/');
}

/**
 * A quoted string of DOT that shows the text; `\n` separates lines. Backslashes would begin escapes of labels, and
 * `&` an entity of HTML.
 */
export function dotString(text: string): string {
  const lines = text
    .split('\n')
    .map((line) =>
      printable(line).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('&', '&amp;'),
    );
  return `"${lines.join('\\n')}"`;
}

/** An identifier of C and JavaScript derived from a name: ASCII letters, digits and underscores. */
export function identifierFrom(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, mostIdentifier);
  return /^[A-Za-z]/.test(plain) ? plain : `x${plain}`;
}

/** Longest generated identifier: C compilers may ignore the rest of a name. */
const mostIdentifier = 200;
