import { FormatError } from './errors.js';

/** Bytes a call turns into a string at once: a multiple of 3, below every engine's argument limit. */
const chunk = 24_576;

/** RFC 4648 base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += chunk) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + chunk)));
  }
  return text;
}

/** The inverse of `toBase64`; anything else is a `FormatError`. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    throw new FormatError('this is not base64', { expected: 'RFC 4648 with padding' });
  }
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
