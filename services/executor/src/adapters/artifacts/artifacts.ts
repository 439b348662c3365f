import { join } from 'node:path';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { ARTIFACT_LIMITS } from '@holdpoint/contracts/program/value';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import { createObjectStore } from '@holdpoint/runtime/store/object-store';
import type { Pool } from 'pg';
import { createCatalog } from './catalog.ts';
import { createOutputKeeper } from './output-keeper.ts';
import { createArtifactQueries } from './queries.ts';
import { createReader } from './reader.ts';
import { createSpool } from './spool.ts';
import { createUploads } from './uploads.ts';

const PURGE_EVERY_MS = 60_000;

export type ArtifactParts = {
  readonly pool: Pool;
  /** The folder of this executor's journal: no other process writes there. */
  readonly folder: string;
  readonly logMaxBytes: number;
  readonly maxBytes: number;
  readonly log: Logger;
};

/**
 * Logs and large outputs of an executor: written to its disk at once, and uploaded to PostgreSQL when that is
 * reachable.
 */
export const createArtifacts = async ({ pool, folder, log, ...limits }: ArtifactParts) => {
  const spool = createSpool({ folder: join(folder, 'spool'), ...limits, now: Date.now, log });
  await spool.recover();
  const objects = createObjectStore(pool, ARTIFACT_LIMITS);
  const purging = startPeriodic('purge of artifacts', PURGE_EVERY_MS, () => objects.purge(), log);
  const catalogue = createCatalog(pool);
  const uploads = createUploads({ spool, objects, catalogue, clock: systemClock, now: Date.now, log });
  const reader = createReader({ spool, objects, folder: join(folder, 'read') });
  return {
    keeping: createOutputKeeper(spool, log),
    queries: createArtifactQueries({ catalogue, objects, reader, log }),
    stop: async (graceMs: number): Promise<void> => {
      await purging.stop();
      await uploads.stop(graceMs);
    },
  };
};

export type Artifacts = Awaited<ReturnType<typeof createArtifacts>>;
