/** The body as text. Throws when it is longer than `maxBytes`. */
export const boundedText = async (response: Response, maxBytes: number): Promise<string> => {
  const parts: Uint8Array[] = [];
  let length = 0;
  const body: AsyncIterable<Uint8Array> | readonly Uint8Array[] = response.body ?? [];
  for await (const part of body) {
    length += part.length;
    if (length > maxBytes) throw new Error(`the answer has more than ${String(maxBytes)} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
};
