import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { z } from 'zod';

/** One start, written before any of it leaves the process. */
export const JournalEntry = z.object({
  /** The executor's transaction in the ledger that committed it; several starts may share one. */
  position: z.int().min(1),
  epoch: z.int().min(1),
  /** Epoch milliseconds, by this machine's clock: informational only. */
  at: z.int(),
  order: RunEffect,
});
export type JournalEntry = z.infer<typeof JournalEntry>;

export type Segment = {
  readonly path: string;
  /** The lowest position in it; the file before may reach up to here. */
  readonly first: number;
  readonly number: number;
};

const NAME = /^(\d{16})-(\d{8})\.jsonl$/;

export const segmentAt = (folder: string, first: number, number: number): Segment => ({
  path: join(folder, `${String(first).padStart(16, '0')}-${String(number).padStart(8, '0')}.jsonl`),
  first,
  number,
});

/** Oldest first. */
export const listSegments = async (folder: string): Promise<readonly Segment[]> =>
  (await readdir(folder))
    .flatMap((name) => {
      const [, first, number] = NAME.exec(name) ?? [];
      return first === undefined || number === undefined
        ? []
        : [segmentAt(folder, Number(first), Number(number))];
    })
    .toSorted((a, b) => a.number - b.number);

/** A line is not an entry, and no crash can have caused that. Its content is lost. */
export class JournalDamaged extends Error {
  override readonly name = 'JournalDamaged';
}

const parseLine = (line: string): JournalEntry | undefined => {
  try {
    return JournalEntry.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined; // told by the caller, who knows which file it is
  }
};

/**
 * The entries of a file. Text behind the last line end was truncated by a crash, before its effect could start. An
 * unreadable line is an error, unless `partial`.
 */
export const readSegment = async (
  { path }: Segment,
  asFarAsItGoes: boolean,
): Promise<readonly JournalEntry[]> => {
  const text = await readFile(path, 'utf8');
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    const entry = parseLine(line);
    if (entry === undefined && !asFarAsItGoes)
      throw new JournalDamaged(`${path}: line ${String(index + 1)} is not an entry`);
    return entry === undefined ? [] : [entry];
  });
};

export type Retention = { readonly keepMs: number; readonly maxBytes: number };

/** The files to delete: older than any backup to restore, or beyond the size limit. */
export const segmentsToDelete = async (
  segments: readonly Segment[],
  { keepMs, maxBytes }: Retention,
  now: number,
): Promise<{ readonly tooOld: readonly Segment[]; readonly tooMany: readonly Segment[] }> => {
  const sized = await Promise.all(
    segments.map(async (segment) => {
      const { size, mtimeMs } = await stat(segment.path);
      return { segment, size, mtimeMs };
    }),
  );
  const closed = sized.slice(0, -1);
  const old = closed.findIndex(({ mtimeMs }) => now - mtimeMs <= keepMs);
  const tooOld = old < 0 ? closed : closed.slice(0, old);
  const tooMany: Segment[] = [];
  let bytes = sized.slice(tooOld.length).reduce((sum, { size }) => sum + size, 0);
  for (const { segment, size } of closed.slice(tooOld.length)) {
    if (bytes <= maxBytes) break;
    bytes -= size;
    tooMany.push(segment);
  }
  return { tooOld: tooOld.map(({ segment }) => segment), tooMany };
};

export const removeSegments = async (segments: readonly Segment[]): Promise<void> => {
  for (const { path } of segments) await unlink(path);
};
