import { AuditAnchored, type AuditLine } from '@holdpoint/contracts/audit/audit';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Client } from '../bus/client.ts';

const PAGE = 500;

export async function* fetchLines(
  client: Client,
  {
    after = 0,
    limit = Infinity,
    about,
  }: { readonly after?: number; readonly limit?: number; readonly about?: string } = {},
): AsyncGenerator<AuditLine> {
  let [last, left] = [after, limit];
  for (let more = true; more && left > 0;) {
    const page = await client.call('approvals', 'audit', {
      after: last,
      limit: Math.min(PAGE, left),
      ...(about !== undefined && { about }),
    });
    yield* page.items;
    last = page.items.at(-1)?.seq ?? last;
    left -= page.items.length;
    more = page.more && page.items.length > 0;
  }
}

/** Anchors from the bus: a writer of the database cannot change these. Undefined if they cannot be read. */
export const fetchAnchors = async (client: Client): Promise<readonly string[] | undefined> => {
  const bodies = await client.stored?.(subjects.event('approval', 'audit_anchored', AUDIT_ID));
  return bodies?.flatMap((body) => {
    const { success, data } = AuditAnchored.safeParse(body);
    return success ? [data.statement] : [];
  });
};
