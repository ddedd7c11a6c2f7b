/** FNV-1a, only to distinguish files. */
export function checksumOf(bytes: Uint8Array): number {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

/** The same in C, with a check of the byte order. */
export const checksumText: string = `static uint32_t checksum(const void *from, size_t count) {
  const uint8_t *const bytes = from;
  uint32_t sum = 0x811c9dc5u;
  for (size_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 0x01000193u;
  return sum;
}

static int is_little_endian(void) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 1;
}`;
