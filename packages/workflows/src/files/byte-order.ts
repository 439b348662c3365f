/** Orders by UTF-8 bytes: the same on every machine and in every language. */
export const byBytes = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8'));
