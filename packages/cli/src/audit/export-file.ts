import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { AuditLine } from '@holdpoint/contracts/audit/audit';
import { PublishedKeys } from '@holdpoint/contracts/approval/signing-keys';
import { z } from 'zod';
import { Refusal } from '../kit/refusal.ts';
import { UsageError } from '../kit/usage-error.ts';

/** One line of an export. Order: keys, external anchors, log lines, end. */
const Part = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('keys'), ...PublishedKeys.shape }),
  z.object({ kind: z.literal('anchor'), statement: z.string() }),
  // The verifier checks the format.
  z.object({ kind: z.literal('line'), line: z.unknown() }),
  z.object({ kind: z.literal('end'), lines: z.int() }),
]);
export type Part = z.infer<typeof Part>;

export const textOfPart = (part: Part): string => `${JSON.stringify(part)}\n`;

const CHUNK_BYTES = 1_048_576;
/** Larger than any line in the database. */
const LINE_MAX = 16 * CHUNK_BYTES;

const openFile = (name: string, directory: string): number => {
  try {
    return openSync(resolve(directory, name), 'r');
  } catch (cause) {
    throw new UsageError(`${name} cannot be read`, { cause });
  }
};

/** Reads a file line by line: exports can be larger than memory. */
export function* fileLines(name: string, directory: string): Generator<string> {
  const file = openFile(name, directory);
  try {
    const decoder = new StringDecoder('utf8');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let open = '';
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const lines = (open + decoder.write(chunk.subarray(0, read))).split('\n');
      open = lines.pop() ?? '';
      if (open.length > LINE_MAX) throw new UsageError(`${name} is not an export of the audit log`);
      yield* lines;
    }
    if (open !== '') yield open;
  } finally {
    closeSync(file);
  }
}

const partOf = (text: string): Part | undefined => {
  try {
    return Part.safeParse(JSON.parse(text)).data;
  } catch {
    // The caller reports that the file is not an export.
    return undefined;
  }
};

/** An altered or shortened file fails the verification: it is no mistake in the command. */
export const damaged = (name: string): Refusal =>
  new Refusal('CLI_AUDIT_ALTERED', `${name} is altered or shortened: a line is no part of an export`);
export const truncated = (name: string, what: string): Refusal =>
  new Refusal('CLI_AUDIT_ALTERED', `${name} is shortened: ${what}`);

/** The parts of an export. Throws `CLI_AUDIT_ALTERED` for an invalid part or a missing end. */
export function* exportParts(name: string, directory: string): Generator<Part> {
  let [ended, started] = [false, false];
  for (const text of fileLines(name, directory)) {
    const part = partOf(text);
    if (part === undefined && !started) throw new UsageError(`${name} is not an export of the audit log`);
    if (part === undefined || ended) throw damaged(name);
    started = true;
    ended = part.kind === 'end';
    yield part;
  }
  if (!ended) throw truncated(name, 'its end is missing');
}

const Anchor = z.object({ statement: z.string() });

const anchorIn = (line: unknown): readonly string[] => {
  const { success, data } = AuditLine.safeParse(line);
  if (!success || data.type !== 'audit_anchored') return [];
  try {
    return [Anchor.parse(JSON.parse(data.entry)).statement];
  } catch (cause) {
    throw new UsageError(`line ${String(data.seq)} of the export is an anchor without a statement`, {
      cause,
    });
  }
};

/** Every anchor of an export, including anchors in log lines. */
export const anchorsOf = (name: string, directory: string): readonly string[] => {
  const found: string[] = [];
  for (const part of exportParts(name, directory)) {
    if (part.kind === 'anchor') found.push(part.statement);
    if (part.kind === 'line') found.push(...anchorIn(part.line));
  }
  return found;
};
