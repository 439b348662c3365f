import { StringDecoder } from 'node:string_decoder';
import { storable } from './kept-output.ts';

/** A longer line is handed on in pieces: it may have no end. */
const LINE_MAX = 16_384;

/** Pieces of a line, none of which ends in half a character. */
const piecesOf = (line: string): readonly string[] => {
  const pieces: string[] = [];
  for (let at = 0; at === 0 || at < line.length;) {
    const half = /[\uD800-\uDBFF]/.test(line.charAt(at + LINE_MAX - 1)) ? 1 : 0;
    pieces.push(line.slice(at, at + LINE_MAX - half));
    at += LINE_MAX - half;
  }
  return pieces;
};

/** Splits what arrives in chunks into lines. Characters that are split between chunks are put together again. */
export const splitLines = (onLine: (line: string) => void) => {
  const decoder = new StringDecoder('utf8');
  let open = '';
  const handOn = (line: string): void => onLine(storable(line.endsWith('\r') ? line.slice(0, -1) : line));
  const add = (text: string): void => {
    const lines = (open + text).split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) for (const piece of piecesOf(line)) handOn(piece);
    if (open.length <= LINE_MAX) return;
    const pieces = piecesOf(open);
    open = pieces.at(-1) ?? '';
    for (const piece of pieces.slice(0, -1)) handOn(piece);
  };
  return {
    add: (chunk: Buffer): void => add(decoder.write(chunk)),
    end: (): void => {
      add(decoder.end());
      if (open !== '') handOn(open);
      open = '';
    },
  };
};
