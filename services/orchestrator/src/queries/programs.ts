import {
  type ProgramDefinition,
  programHash,
  ProgramDefinition as Definition,
  type ProgramView,
} from '@holdpoint/contracts/program/definition';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { decodeCursor, pageOf } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';

const Row = z.object({
  hash: z.string(),
  id: z.string(),
  version: z.string(),
  definition: Definition,
  place: z.coerce.number(),
  registeredAt: z.coerce.number(),
});
export type ProgramRow = z.infer<typeof Row>;

const COLUMNS = `hash, id, version, definition, place, floor(extract(epoch FROM registered_at) * 1000)::bigint AS "registeredAt"`;

const viewOf = ({ id, version, hash, definition, registeredAt }: ProgramRow): ProgramView => ({
  id,
  version,
  hash,
  phases: definition.phases.map((phase): NodeId => phase.id),
  registeredAt,
});

/** Stores program versions. A known version stays unchanged. */
export const registerPrograms = async (
  pool: Pool,
  programs: readonly ProgramDefinition[],
): Promise<readonly ProgramRow[]> => {
  const hashes = programs.map(programHash);
  await pool.query(
    `INSERT INTO programs (hash, id, version, definition)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) ON CONFLICT (hash) DO NOTHING`,
    [
      hashes,
      programs.map(({ id }) => id),
      programs.map(({ version }) => version),
      programs.map((program) => JSON.stringify(program)),
    ],
  );
  const { rows } = await pool.query(`SELECT ${COLUMNS} FROM programs WHERE hash = ANY ($1) ORDER BY place`, [
    hashes,
  ]);
  return z.array(Row).parse(rows);
};

export const registered = (rows: readonly ProgramRow[]): { items: ProgramView[] } => ({
  items: rows.map(viewOf),
});

/** The versions after a position, oldest first. */
export const programsAfter = async (
  pool: Pool,
  place: number,
  limit: number,
): Promise<readonly ProgramRow[]> => {
  const { rows } = await pool.query({
    name: 'hp_programs_after',
    text: `SELECT ${COLUMNS} FROM programs WHERE place > $1 ORDER BY place LIMIT $2`,
    values: [place, limit],
  });
  return z.array(Row).parse(rows);
};

/** Programs, latest first. */
export const listPrograms = async (
  pool: Pool,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<{ items: ProgramView[]; next?: string }> => {
  const before = after === undefined ? null : decodeCursor(after).at;
  const { rows } = await pool.query(
    `SELECT ${COLUMNS} FROM programs WHERE ($1::bigint IS NULL OR place < $1) ORDER BY place DESC LIMIT $2`,
    [before, limit + 1],
  );
  const page = pageOf(z.array(Row).parse(rows), limit, ({ place, hash }) => ({ at: place, id: hash }));
  return { items: page.rows.map(viewOf), ...(page.next !== undefined && { next: page.next }) };
};

/** The latest version of each program, by name. */
export const latestPrograms = async (pool: Pool, limit: number): Promise<readonly ProgramRow[]> => {
  const { rows } = await pool.query(
    `SELECT * FROM (SELECT DISTINCT ON (id) ${COLUMNS} FROM programs ORDER BY id, place DESC) AS latest ORDER BY id LIMIT $1`,
    [limit],
  );
  return z.array(Row).parse(rows);
};
