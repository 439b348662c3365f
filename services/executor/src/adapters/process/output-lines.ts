import { StringDecoder } from 'node:string_decoder';
import { storable } from './output-buffer.ts';

/** A longer line is split: it may have no end. */
const LINE_MAX = 16_384;
/** After so many lines only the first and last lines of each chunk are passed on. */
const LINES_MAX = 1_000_000;
const LINES_OF_A_FLOOD = 20;

const LINE_END = 0x0a;

/** Pieces of a line, split between characters. */
const piecesOf = (line: string): readonly string[] => {
  if (line.length <= LINE_MAX) return [line];
  const pieces: string[] = [];
  for (let at = 0; at < line.length;) {
    const half = /[\uD800-\uDBFF]/.test(line.charAt(at + LINE_MAX - 1)) ? 1 : 0;
    pieces.push(line.slice(at, at + LINE_MAX - half));
    at += LINE_MAX - half;
  }
  return pieces;
};

/** The end of the n-th line of a chunk, from its start or end; undefined when it has fewer. */
const endOfLine = (chunk: Buffer, count: number, from: 'start' | 'end'): number | undefined => {
  let at = from === 'start' ? -1 : chunk.length;
  for (let n = 0; n < count; n += 1) {
    if (from === 'end' && at === 0) return undefined;
    at = from === 'start' ? chunk.indexOf(LINE_END, at + 1) : chunk.lastIndexOf(LINE_END, at - 1);
    if (at < 0) return undefined;
  }
  return at;
};

const leftOut = (count: number): string => `[holdpoint] ${String(count)} bytes of lines omitted here`;

/** Splits chunks into lines. Characters may be split between chunks. */
export const splitLines = (onLine: (line: string) => void) => {
  const decoder = new StringDecoder('utf8');
  let open = '';
  let lines = 0;
  const handOn = (line: string): void => onLine(storable(line.endsWith('\r') ? line.slice(0, -1) : line));
  const addText = (text: string): void => {
    const ended = (open + text).split('\n');
    open = ended.pop() ?? '';
    lines += ended.length;
    for (const line of ended) for (const piece of piecesOf(line)) handOn(piece);
    if (open.length <= LINE_MAX) return;
    const pieces = piecesOf(open);
    open = pieces.at(-1) ?? '';
    for (const piece of pieces.slice(0, -1)) handOn(piece);
  };
  const add = (chunk: Buffer): void => {
    const first = lines < LINES_MAX ? undefined : endOfLine(chunk, LINES_OF_A_FLOOD, 'start');
    const last = first === undefined ? undefined : endOfLine(chunk, LINES_OF_A_FLOOD, 'end');
    if (first === undefined || last === undefined || last <= first) return addText(decoder.write(chunk));
    // Both cuts are line ends, and so never inside a character.
    addText(decoder.write(chunk.subarray(0, first + 1)));
    handOn(leftOut(last - first));
    addText(decoder.write(chunk.subarray(last + 1)));
  };
  return {
    add,
    end: (): void => {
      addText(decoder.end());
      if (open !== '') handOn(open);
      open = '';
    },
  };
};
