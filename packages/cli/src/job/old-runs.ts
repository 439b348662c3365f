import type { Client } from '../bus/client.ts';

const DAY_MS = 86_400_000;
const PAGE = 500;
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Runs that have ended and were submitted before: what a clean-up could be about. */
export const countOldRuns = async (client: Client, days: number, now: number): Promise<number> => {
  let count = 0;
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after !== undefined && { after }) };
    const { items, next } = await client.call('orchestrator', 'list', page);
    count += items.filter(
      ({ phase, createdAt }) => ENDED.has(phase) && createdAt < now - days * DAY_MS,
    ).length;
    if (next === undefined || items.length === 0) return count;
    after = next;
  }
};
