/** Text as a corpus file holds it: what is repeated a million times takes one line. */
export type Text = string | { readonly repeat: string; readonly times: number };

/** Bytes as a corpus file holds them: text is UTF-8, and what UTF-8 cannot say is spelt in hexadecimal. */
export type Bytes = readonly (Text | { readonly hex: string })[];

export const textOf = (text: Text): string =>
  typeof text === 'string' ? text : text.repeat.repeat(text.times);

export const bytesOf = (pieces: Bytes): Uint8Array =>
  Buffer.concat(
    pieces.map((piece) =>
      typeof piece === 'object' && 'hex' in piece
        ? Buffer.from(piece.hex, 'hex')
        : Buffer.from(textOf(piece)),
    ),
  );
