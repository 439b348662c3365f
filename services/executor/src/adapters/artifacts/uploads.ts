import { createReadStream } from 'node:fs';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { ObjectStore } from '@holdpoint/runtime/store/object-store';
import type { Catalog } from './catalog.ts';
import type { Spool, SpooledArtifact } from './spool.ts';

export type UploadParts = {
  readonly spool: Spool;
  readonly objects: Pick<ObjectStore, 'find' | 'put'>;
  readonly catalogue: Pick<Catalog, 'note' | 'noteStored'>;
  readonly clock: Clock;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
};

const AT_ONCE = 4;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 15_000;
/** Older contents are uploaded again, so that an artifact of today does not expire with one of last week. */
const FRESH_MS = 24 * 3_600_000;

/** Uploads waiting artifacts, with retries. A file is deleted once the store has confirmed its digest. */
export const createUploads = ({ spool, objects, catalogue, clock, now, log }: UploadParts) => {
  let busy: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let retryMs = RETRY_FIRST_MS;
  let callOff: (() => void) | undefined;

  const isThere = async ({ sha256, bytes }: SpooledArtifact): Promise<boolean> => {
    const found = await objects.find(sha256);
    return found?.sha256 === sha256 && found.bytes === bytes && now() - found.storedAt < FRESH_MS;
  };

  const store = async (spooled: SpooledArtifact): Promise<void> => {
    const { sha256, bytes } = spooled;
    await catalogue.note(spooled);
    if (!(await isThere(spooled))) {
      const path = spool.find(sha256);
      if (path === undefined) return;
      const stored = await objects.put(sha256, createReadStream(path));
      if (stored.sha256 !== sha256 || stored.bytes !== bytes)
        throw new Error(`the store returned digest ${stored.sha256} instead of ${sha256}`);
    }
    await catalogue.noteStored(spooled);
    spool.remove(spooled);
  };

  /** Uploads all waiting artifacts, a few at a time. Returns the first problem, if any. */
  const pass = async (): Promise<unknown> => {
    const left = [...spool.waiting()];
    let problem: unknown;
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined && !stopped; next = left.shift()) {
        try {
          await store(next);
        } catch (error) {
          problem ??= error;
          // The others would most likely fail as well.
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return problem;
  };

  const run = async (): Promise<void> => {
    do {
      again = false;
      const problem = await pass();
      if (problem === undefined) {
        retryMs = RETRY_FIRST_MS;
        continue;
      }
      if (stopped) return;
      log.warn(
        { ...errorFields(problem), waiting: spool.waiting().length, retryMs },
        'cannot upload artifacts; they wait',
      );
      callOff = clock.after(retryMs, wake);
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
      return;
    } while (again && !stopped);
  };

  const wake = (): void => {
    if (stopped) return;
    again = true;
    if (busy !== undefined) return;
    callOff?.();
    callOff = undefined;
    busy = run().finally(() => {
      busy = undefined;
      // Artifacts that were added since the last look.
      if (again && callOff === undefined) wake();
    });
  };

  spool.onAdded(wake);
  wake();
  return {
    /** Continues for `graceMs`; the rest waits for the next start. */
    stop: async (graceMs: number): Promise<void> => {
      const done = (async () => {
        while (busy !== undefined) await busy;
      })();
      let endGrace = (): void => undefined;
      await Promise.race([done, new Promise<void>((resolve) => (endGrace = clock.after(graceMs, resolve)))]);
      endGrace();
      stopped = true;
      callOff?.();
    },
  };
};

export type Uploads = ReturnType<typeof createUploads>;
