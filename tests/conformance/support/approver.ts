import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../../kit/until.ts';
import type { Repository } from './repository.ts';

/** How often somebody looks is not what anything waits for; looking all the time would take its time from what is looked at. */
const LOOK_EVERY_MS = 200;

/**
 * Somebody sits at another terminal and approves what comes up, as long as the work takes: merges are effects, and wait for
 * a person.
 */
export const whileApproving = async <Done>(
  { stack, holdpoint }: Repository,
  runs: readonly string[],
  work: () => Promise<Done>,
): Promise<Done> => {
  let isOver = false;
  const approve = async (): Promise<void> => {
    while (!isOver) {
      const { items } = await until('what waits for a decision is listed', () =>
        stack.system.client.ask('approvals', 'list', { status: 'pending' }),
      );
      for (const { id } of items.filter(({ task }) => runs.includes(task))) {
        const { code, err } = await holdpoint('approval', 'approve', id, '--comment', 'looks right');
        // A request may be withdrawn while the command starts.
        if (code !== 0) expect(err).toMatch(/APPROVALS_(ALREADY_DECIDED|WITHDRAWN)/);
      }
      await sleep(LOOK_EVERY_MS);
    }
  };
  const approving = approve();
  try {
    return await Promise.race([
      work(),
      approving.then((): never => {
        throw new Error('nobody approves any more');
      }),
    ]);
  } finally {
    isOver = true;
    await approving;
  }
};
