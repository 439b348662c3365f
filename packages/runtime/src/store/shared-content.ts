import type { Pool } from 'pg';
import { complete, digestsIn } from '../engine/shared-content.ts';
import { statements as ownStatements, type Statements } from './statements.ts';

type Row = { readonly digest: string; readonly content: unknown };

/** Bounds the memory of a process: each release of the default gate is one content. */
const KNOWN_MAX = 100;
/** A digest always names the same content, so a known one is never read again. */
const known = new Map<string, unknown>();

const contentsOf = async (
  asked: Pick<Pool, 'query'>,
  digests: ReadonlySet<string>,
  { sharedContent }: Statements,
): Promise<ReadonlyMap<string, unknown>> => {
  const found = new Map([...known].filter(([digest]) => digests.has(digest)));
  const missing = [...digests].filter((digest) => !found.has(digest));
  if (missing.length === 0) return found;
  const { rows } = await asked.query<Row>({ ...sharedContent, values: [missing] });
  if (known.size + rows.length > KNOWN_MAX) known.clear();
  for (const { digest, content } of rows) {
    known.set(digest, content);
    found.set(digest, content);
  }
  return found;
};

/** Stored events with the content that they share with others. */
export const completeEvents = async (
  asked: Pick<Pool, 'query'>,
  stored: readonly unknown[],
  statements: Statements = ownStatements,
): Promise<readonly unknown[]> => {
  const digests = new Set(stored.flatMap(digestsIn));
  if (digests.size === 0) return stored;
  const contents = await contentsOf(asked, digests, statements);
  return stored.map((event) => complete(event, contents));
};
