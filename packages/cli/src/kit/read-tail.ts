import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { OUTPUT_MAX } from '@holdpoint/contracts/recovery/commands';
import { UsageError } from './usage-error.ts';

/** Reads the next bytes; returns zero at the end. */
export type NextBytes = (into: Buffer) => number;

const BLOCK = 65_536;
/** Maximum size of a UTF-8 character, times the limit. */
const TAIL_BYTES = OUTPUT_MAX * 4;

const keepEnd = (kept: Buffer, more: Buffer): Buffer => {
  const all = Buffer.concat([kept, more]);
  return all.subarray(Math.max(0, all.length - TAIL_BYTES));
};

/** The last characters of a text, as many as the classification uses. Invalid bytes are replaced. */
export const tailOf = (next: NextBytes): string => {
  const block = Buffer.alloc(BLOCK);
  let kept: Buffer = Buffer.alloc(0);
  for (let read = next(block); read > 0; read = next(block)) kept = keepEnd(kept, block.subarray(0, read));
  const text = new TextDecoder('utf-8').decode(kept).replaceAll('\0', '\uFFFD');
  return text.slice(-OUTPUT_MAX).toWellFormed();
};

export const tailOfFile = (name: string, directory: string): string => {
  let file: number | undefined;
  try {
    file = openSync(resolve(directory, name), 'r');
    const opened = file;
    return tailOf((into) => readSync(opened, into));
  } catch (cause) {
    throw new UsageError(`${name} cannot be read`, { cause });
  } finally {
    if (file !== undefined) closeSync(file);
  }
};
