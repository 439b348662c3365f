import { ArtifactView, artifactUriOf } from '@holdpoint/contracts/effect/stored-artifact';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { SpooledArtifact } from './spool.ts';

const COLUMNS = `
  id, sha256, bytes, media_type, name, task, node, attempt, step, effect, epoch,
  extract(epoch FROM created_at) * 1000 AS created_at, extract(epoch FROM stored_at) * 1000 AS stored_at`;

const time = z.coerce.number().transform(Math.round);
const Row = z.object({
  id: z.string(),
  sha256: z.string(),
  bytes: z.coerce.number(),
  media_type: z.string(),
  name: z.string(),
  task: z.string(),
  node: z.string(),
  attempt: z.int(),
  step: z.string(),
  effect: z.string(),
  epoch: z.int(),
  created_at: time,
  stored_at: time.nullable(),
});

const viewOf = ({
  id: _id,
  media_type,
  created_at,
  stored_at,
  ...rest
}: z.output<typeof Row>): ArtifactView =>
  ArtifactView.parse({
    ...rest,
    uri: artifactUriOf(rest.sha256),
    mediaType: media_type,
    createdAt: created_at,
    ...(stored_at !== null && { storedAt: stored_at }),
  });

/** After a restore, a repeated start has other output under the same id. */
const NOTE = `
  INSERT INTO artifacts (effect, epoch, name, sha256, bytes, media_type, task, node, attempt, step, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, to_timestamp($11::double precision / 1000))
  ON CONFLICT (effect, epoch, name) DO UPDATE SET sha256 = excluded.sha256, bytes = excluded.bytes,
    created_at = excluded.created_at, stored_at = NULL WHERE artifacts.sha256 <> excluded.sha256`;

/** Bounds the list of starts with the same content. */
const MADE_MAX = 100;

/** All artifacts, including those that the object store has purged. */
export const createCatalog = (pool: Pool) => ({
  note: async (spooled: SpooledArtifact): Promise<void> => {
    const { effect, epoch, name, sha256, bytes, mediaType, task, node, attempt, step, createdAt } = spooled;
    await pool.query({
      name: 'hp_artifact_note',
      text: NOTE,
      values: [effect, epoch, name, sha256, bytes, mediaType, task, node, attempt, step, createdAt],
    });
  },
  noteStored: async ({ effect, epoch, name, sha256 }: SpooledArtifact): Promise<void> => {
    await pool.query({
      name: 'hp_artifact_stored',
      text: 'UPDATE artifacts SET stored_at = now() WHERE effect = $1 AND epoch = $2 AND name = $3 AND sha256 = $4',
      values: [effect, epoch, name, sha256],
    });
  },
  /** The artifacts of a task, oldest first; `next` is the cursor of the following page. */
  ofTask: async (
    task: string,
    { limit, after }: { readonly limit: number; readonly after: number },
  ): Promise<{ readonly items: ArtifactView[]; readonly next?: string }> => {
    const { rows } = await pool.query(
      `SELECT ${COLUMNS} FROM artifacts WHERE task = $1 AND id > $2 ORDER BY id LIMIT $3`,
      [task, after, limit],
    );
    const found = z.array(Row).parse(rows);
    const last = found.at(-1);
    return {
      items: found.map(viewOf),
      ...(found.length === limit && last !== undefined && { next: last.id }),
    };
  },
  madeOf: async (sha256: string): Promise<ArtifactView[]> => {
    const { rows } = await pool.query(
      `SELECT ${COLUMNS} FROM artifacts WHERE sha256 = $1 ORDER BY id LIMIT $2`,
      [sha256, MADE_MAX],
    );
    return z.array(Row).parse(rows).map(viewOf);
  },
});

export type Catalog = ReturnType<typeof createCatalog>;
