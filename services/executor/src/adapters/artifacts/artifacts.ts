import { join } from 'node:path';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { ObjectStore } from '@holdpoint/runtime/bus/object-store';
import type { Pool } from 'pg';
import { createCatalog } from './catalog.ts';
import { createOutputKeeper } from './output-keeper.ts';
import { createArtifactQueries } from './queries.ts';
import { createReader } from './reader.ts';
import { createSpool } from './spool.ts';
import { createUploads } from './uploads.ts';

export type ArtifactParts = {
  readonly pool: Pool;
  readonly objects: ObjectStore;
  /** The folder of this executor's journal: no other process writes there. */
  readonly folder: string;
  readonly logMaxBytes: number;
  readonly maxBytes: number;
  readonly log: Logger;
};

/**
 * Logs and large outputs of an executor: written to its disk at once, and uploaded to the object store when that is
 * reachable.
 */
export const createArtifacts = async ({ pool, objects, folder, log, ...limits }: ArtifactParts) => {
  const spool = createSpool({ folder: join(folder, 'spool'), ...limits, now: Date.now, log });
  await spool.recover();
  const catalogue = createCatalog(pool);
  const uploads = createUploads({ spool, objects, catalogue, clock: systemClock, now: Date.now, log });
  const reader = createReader({ spool, objects, folder: join(folder, 'read') });
  return {
    keeping: createOutputKeeper(spool, log),
    queries: createArtifactQueries({ catalogue, objects, reader, log }),
    stop: (graceMs: number): Promise<void> => uploads.stop(graceMs),
  };
};

export type Artifacts = Awaited<ReturnType<typeof createArtifacts>>;
