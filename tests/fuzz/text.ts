/** Text in a corpus file: repeated text takes one line. */
export type Text = string | { readonly repeat: string; readonly times: number };

/** Bytes in a corpus file: UTF-8 text, and hexadecimal for the rest. */
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
