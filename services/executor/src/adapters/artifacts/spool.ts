import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { ArtifactView, artifactUriOf } from '@holdpoint/contracts/effect/stored-artifact';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { z } from 'zod';
import { stepOf } from '../../effect/step-name.ts';
import { replaceFile, syncFolder } from '../files/durable-file.ts';
import { createLogFile, type LogFile, type FileDigest } from './log-file.ts';

/** The whole output of a start, or outputs that are too large for a message. */
export type Kind = 'log' | 'outputs';

const SpooledArtifact = ArtifactView.omit({ storedAt: true });
export type SpooledArtifact = z.infer<typeof SpooledArtifact>;

/** Facts about an artifact before it is written. */
const ArtifactInfo = SpooledArtifact.omit({ uri: true, sha256: true, bytes: true });
type ArtifactInfo = z.infer<typeof ArtifactInfo>;

const MEDIA: Readonly<Record<Kind, { readonly mediaType: string; readonly ending: string }>> = {
  log: { mediaType: 'text/plain; charset=utf-8', ending: 'log' },
  outputs: { mediaType: 'application/json', ending: 'outputs.json' },
};

export type SpoolParts = {
  readonly folder: string;
  readonly logMaxBytes: number;
  /** Disk limit for artifacts that wait for their upload. Beyond it no more are kept. */
  readonly maxBytes: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
};

const aboutOf = (order: RunEffect, epoch: number, kind: Kind, createdAt: number): ArtifactInfo => {
  const { task, node } = order.effect;
  const step = stepOf(order);
  const { mediaType, ending } = MEDIA[kind];
  const name = `${node}.${String(order.attempt)}.${step}.${ending}`;
  return {
    mediaType,
    name,
    task,
    node,
    attempt: order.attempt,
    step,
    effect: order.id,
    epoch,
    createdAt,
  };
};

const idOf = ({ effect, epoch, mediaType }: Pick<ArtifactInfo, 'effect' | 'epoch' | 'mediaType'>): string =>
  `${effect}.${String(epoch)}.${mediaType === MEDIA.log.mediaType ? 'log' : 'outputs'}`;

const digestFile = async (path: string): Promise<FileDigest> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { sha256: hash.digest('hex'), bytes: (await stat(path)).size };
};

const BEGUN = '.begun.json';
const PART = '.part';
const RECORD = '.json';

/**
 * Holds artifacts until they are uploaded: each as a file named by its digest, with a record beside it. After a
 * crash both are there, or a part that counts as the output up to then.
 */
export const createSpool = ({ folder, logMaxBytes, maxBytes, now, log }: SpoolParts) => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const waiting = new Map<string, SpooledArtifact>();
  /** Reference counts of contents. */
  const named = new Map<string, number>();
  const listeners = new Set<() => void>();
  let bytesWaiting = 0;
  let isFull = false;

  const contentOf = (sha256: string): string => join(folder, sha256);

  const leave = (id: string): void => {
    const before = waiting.get(id);
    if (before === undefined) return;
    waiting.delete(id);
    bytesWaiting -= before.bytes;
    const left = (named.get(before.sha256) ?? 1) - 1;
    if (left > 0) return void named.set(before.sha256, left);
    named.delete(before.sha256);
    // Synchronous, so that no start can claim the same content in between.
    rmSync(contentOf(before.sha256), { force: true });
  };
  const enter = (id: string, spooled: SpooledArtifact): void => {
    named.set(spooled.sha256, (named.get(spooled.sha256) ?? 0) + 1);
    leave(id);
    waiting.set(id, spooled);
    bytesWaiting += spooled.bytes;
  };

  const hasRoom = (): boolean => {
    const full = bytesWaiting >= maxBytes;
    if (full && !isFull)
      log.error(
        { waiting: waiting.size },
        'logs and outputs are no longer kept: too many wait for their upload',
      );
    isFull = full;
    return !full;
  };

  /** The record first, so that recovery knows a partial file. */
  const seal = async (
    id: string,
    about: ArtifactInfo,
    { sha256, bytes }: FileDigest,
  ): Promise<SpooledArtifact> => {
    const spooled: SpooledArtifact = { ...about, uri: artifactUriOf(sha256), sha256, bytes };
    // Before the rename, so that another record with the same content does not remove the file.
    enter(id, spooled);
    try {
      await replaceFile(join(folder, `${id}${RECORD}`), JSON.stringify(spooled));
      await rename(join(folder, `${id}${PART}`), contentOf(sha256));
      await syncFolder(folder);
    } catch (error) {
      leave(id);
      throw error;
    }
    await rm(join(folder, `${id}${BEGUN}`), { force: true });
    for (const heard of listeners) heard();
    return spooled;
  };

  const forget = (id: string): void => {
    for (const ending of [PART, BEGUN]) rmSync(join(folder, `${id}${ending}`), { force: true });
  };

  const begin = (id: string, about: ArtifactInfo): void => {
    // Left by a start of the same epoch, before a restore.
    forget(id);
    writeFileSync(join(folder, `${id}${BEGUN}`), JSON.stringify(about), { mode: 0o600 });
  };

  /** Undefined when there is no room. */
  const beginLog = (
    order: RunEffect,
    epoch: number,
  ): { readonly say: LogFile['print']; readonly end: () => Promise<SpooledArtifact> } | undefined => {
    if (!hasRoom()) return undefined;
    const about = aboutOf(order, epoch, 'log', now());
    const id = idOf(about);
    begin(id, about);
    const file = createLogFile({ path: join(folder, `${id}${PART}`), maxBytes: logMaxBytes, now });
    const end = async (): Promise<SpooledArtifact> => {
      try {
        return await seal(id, about, await file.end());
      } catch (error) {
        forget(id);
        throw error;
      }
    };
    return { say: file.print, end };
  };

  /** Undefined when there is no room. */
  const keep = async (
    order: RunEffect,
    epoch: number,
    text: string,
  ): Promise<SpooledArtifact | undefined> => {
    if (!hasRoom()) return undefined;
    const about = aboutOf(order, epoch, 'outputs', now());
    const id = idOf(about);
    begin(id, about);
    try {
      const handle = await open(join(folder, `${id}${PART}`), 'wx', 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      const sha256 = sha256Of(text);
      return await seal(id, about, { sha256, bytes: Buffer.byteLength(text) });
    } catch (error) {
      forget(id);
      throw error;
    }
  };

  const readRecord = async (file: string): Promise<void> => {
    const spooled = SpooledArtifact.parse(JSON.parse(await readFile(join(folder, file), 'utf8')));
    if (existsSync(contentOf(spooled.sha256))) enter(idOf(spooled), spooled);
    else rmSync(join(folder, file), { force: true });
  };
  const sealLeftBehind = async (file: string): Promise<void> => {
    const id = file.slice(0, -BEGUN.length);
    const part = join(folder, `${id}${PART}`);
    if (!existsSync(part)) return forget(id);
    const about = ArtifactInfo.parse(JSON.parse(await readFile(join(folder, file), 'utf8')));
    const written = await digestFile(part);
    // Incomplete outputs belong to no outcome.
    if (written.bytes === 0 || about.mediaType !== MEDIA.log.mediaType) return forget(id);
    await seal(id, about, written);
  };
  const each = async (files: readonly string[], take: (file: string) => Promise<void>): Promise<void> => {
    for (const file of files)
      await take(file).catch((error: unknown) =>
        log.error({ ...errorFields(error), file }, 'cannot read an artifact of an earlier process'),
      );
  };

  return {
    beginLog,
    keep,
    /** Recovers the files of an earlier process. Must run before the first start. */
    recover: async (): Promise<void> => {
      const files = readdirSync(folder);
      const begun = files.filter((file) => file.endsWith(BEGUN));
      await each(begun, sealLeftBehind);
      const records = readdirSync(folder).filter((file) => file.endsWith(RECORD) && !file.endsWith(BEGUN));
      await each(records, readRecord);
      // Unreferenced contents and incomplete records.
      for (const file of readdirSync(folder))
        if (file.endsWith('.new') || (/^[0-9a-f]{64}$/.test(file) && !named.has(file)))
          rmSync(join(folder, file), { force: true });
    },
    waiting: (): readonly SpooledArtifact[] => [...waiting.values()],
    /** The path of a content that still waits for its upload. */
    find: (sha256: string): string | undefined => (named.has(sha256) ? contentOf(sha256) : undefined),
    /** The upload is confirmed. */
    remove: (spooled: SpooledArtifact): void => {
      const id = idOf(spooled);
      // A restored ledger may have started it again in the meantime.
      if (waiting.get(id) !== spooled) return;
      rmSync(join(folder, `${id}${RECORD}`), { force: true });
      leave(id);
    },
    onAdded: (heard: () => void): void => void listeners.add(heard),
  };
};

export type Spool = ReturnType<typeof createSpool>;
