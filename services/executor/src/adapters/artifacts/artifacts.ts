import { join } from 'node:path';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { ObjectStore } from '@holdpoint/runtime/bus/object-store';
import type { Pool } from 'pg';
import { createCatalogue } from './catalog.ts';
import { createKeeping } from './keeping.ts';
import { type ArtifactQueries, createArtifactQueries } from './queries.ts';
import { createReader } from './reader.ts';
import { createSpool } from './spool.ts';
import { createUploads, type Uploads } from './uploads.ts';

export type ArtifactParts = {
  /** Of the journal that this executor has: nobody else writes there. */
  readonly folder: string;
  readonly logMaxBytes: number;
  readonly maxBytes: number;
  readonly log: Logger;
};

/** Logs and large outputs of an executor: kept on its disk at once, and brought to the store once there is one. */
export const createArtifacts = async ({ folder, log, ...limits }: ArtifactParts) => {
  const spool = createSpool({ folder: join(folder, 'spool'), ...limits, now: Date.now, log });
  await spool.recover();
  let uploads: Uploads | undefined;
  let queries: ArtifactQueries | undefined;
  return {
    keeping: createKeeping(spool, log),
    connect: (pool: Pool, objects: ObjectStore): void => {
      const catalogue = createCatalogue(pool);
      uploads = createUploads({ spool, objects, catalogue, clock: systemClock, now: Date.now, log });
      const reader = createReader({ spool, objects, folder: join(folder, 'read') });
      queries = createArtifactQueries({ catalogue, objects, reader, log });
    },
    queries: (): ArtifactQueries => {
      if (queries === undefined) throw new Error('artifacts are asked for before there is a store');
      return queries;
    },
    stop: async (graceMs: number): Promise<void> => uploads?.stop(graceMs),
  };
};

export type Artifacts = Awaited<ReturnType<typeof createArtifacts>>;
