import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { replaceFile, syncFolder } from '../files/durable-file.ts';
import { type JournalName, readName } from './journal-identity.ts';
import {
  type JournalEntry,
  listSegments,
  readSegment,
  removeSegments,
  type Retention,
  type Segment,
  segmentAt,
  segmentsToDelete,
} from './segments.ts';

export type Appendable = Pick<FileHandle, 'appendFile' | 'datasync' | 'close'>;

export type JournalOptions = Retention & {
  /** A file is closed at this size or this age: old entries are deleted by whole files. */
  readonly segmentBytes?: number;
  readonly segmentMs?: number;
  /** Opens a file that must not exist yet. */
  readonly openNew?: (path: string) => Promise<Appendable>;
};

const openForAppending = (path: string): Promise<Appendable> => open(path, 'ax', 0o600);

const SEGMENT_BYTES = 8 * 1024 * 1024;
const SEGMENT_MS = 24 * 3_600_000;

type PendingEntry = { readonly line: string; readonly position: number } & {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};
type Current = { readonly handle: Appendable; readonly openedAt: number; bytes: number };

/**
 * The starts of this executor, on its own disk, where a database restore cannot remove them. Entries gather while a
 * write is under way, so that many share one sync. One process writes it and holds the folder's lock.
 */
export const openJournal = async (folder: string, options: JournalOptions, log: Logger) => {
  const { segmentBytes = SEGMENT_BYTES, segmentMs = SEGMENT_MS, openNew = openForAppending } = options;
  let name = await readName(folder);
  let segments = await listSegments(folder);
  let position = Math.max(await lastPosition(segments), name.seen[name.id] ?? 0);
  let current: Current | undefined;
  let writing = false;
  const waiting: PendingEntry[] = [];

  const rename = async (change: Partial<JournalName>): Promise<void> => {
    const changed = { ...name, ...change };
    await replaceFile(join(folder, 'journal.json'), JSON.stringify(changed));
    name = changed;
  };

  const drop = async (): Promise<void> => {
    const { tooOld, tooMany } = await segmentsToDelete(segments, options, Date.now());
    const gone = [...tooOld, ...tooMany];
    if (gone.length === 0) return;
    const kept = segments.slice(gone.length);
    // Stores the new floor before it deletes.
    await rename({ floor: kept[0]?.first ?? position });
    segments = kept;
    await removeSegments(gone);
    if (tooMany.length > 0)
      log.warn({ floor: name.floor }, 'the journal is full: its oldest files are deleted early');
  };

  const newSegment = async (first: number): Promise<Current> => {
    const segment = segmentAt(folder, first, (segments.at(-1)?.number ?? 0) + 1);
    const handle = await openNew(segment.path);
    await syncFolder(folder);
    segments = [...segments, segment];
    await drop().catch((error: unknown) => log.warn(errorFields(error), 'cannot remove old journal files'));
    return { handle, openedAt: Date.now(), bytes: 0 };
  };

  const writable = async (first: number): Promise<Current> => {
    if (current !== undefined && current.bytes < segmentBytes && Date.now() - current.openedAt < segmentMs)
      return current;
    await abandon();
    current = await newSegment(first);
    return current;
  };

  const abandon = async (): Promise<void> => {
    const before = current;
    current = undefined;
    await before?.handle.close();
  };

  const write = async (batch: readonly PendingEntry[]): Promise<void> => {
    const text = batch.map(({ line }) => line).join('');
    if (text === '') return;
    const file = await writable(batch.find(({ line }) => line !== '')?.position ?? position);
    await file.handle.appendFile(text);
    await file.handle.datasync();
    file.bytes += Buffer.byteLength(text);
  };

  const drain = async (): Promise<void> => {
    writing = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0);
      try {
        await write(batch);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        // After a failed sync the content of the file is uncertain, and a second sync would report success: a new file
        // follows.
        await abandon().catch(() => undefined);
        for (const { reject } of batch) reject(error);
      }
    }
    writing = false;
  };

  const enqueue = (line: string, at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push({ line, position: at, resolve, reject });
      if (!writing) void drain();
    });

  return {
    id: name.id,
    /** The highest known position of this executor in the ledger. */
    position: (): number => position,
    reach: (reached: number): void => {
      position = Math.max(position, reached);
    },
    /** Entries up to this position are deleted. */
    floor: (): number => name.floor,
    /** Resolves once it is on the disk. */
    append: (order: RunEffect, epoch: number, at: number): Promise<void> => {
      position = Math.max(position, at);
      const entry: JournalEntry = { position: at, epoch, at: Date.now(), order };
      return enqueue(`${JSON.stringify(entry)}\n`, at);
    },
    /** The starts after a position of the ledger, one file at a time, including those being written. */
    entriesAfter: async function* (
      after: number,
      asFarAsItGoes: boolean,
    ): AsyncGenerator<readonly JournalEntry[], void, undefined> {
      // A start that could not be written has not begun.
      await enqueue('', position).catch(() => undefined);
      const from = segments.findLastIndex(({ first }) => first <= after);
      for (const segment of segments.slice(Math.max(from, 0))) {
        yield (await readSegment(segment, asFarAsItGoes)).filter((entry) => entry.position > after);
      }
    },
    seen: (): ReadonlyMap<string, number> => new Map(Object.entries(name.seen)),
    remember: async (seen: ReadonlyMap<string, number>): Promise<void> => {
      const changed = Object.fromEntries([...seen].toSorted(([a], [b]) => (a < b ? -1 : 1)));
      if (JSON.stringify(changed) !== JSON.stringify(name.seen)) await rename({ seen: changed });
    },
    close: async (): Promise<void> => {
      await enqueue('', position).catch(() => undefined);
      await abandon();
    },
  };
};
export type Journal = Awaited<ReturnType<typeof openJournal>>;

/** The newest file has the highest position. */
const lastPosition = async (segments: readonly Segment[]): Promise<number> => {
  const last = segments.at(-1);
  if (last === undefined) return 0;
  const entries = await readSegment(last, true);
  return Math.max(last.first, ...entries.map(({ position }) => position));
};
