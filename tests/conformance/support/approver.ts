import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../../kit/until.ts';
import type { Repository } from './repository.ts';

/** A slower poll delays no test; a busy poll would take CPU time from the services. */
const LOOK_EVERY_MS = 200;

/**
 * Another operator who approves all requests until the work ends: a merge needs an approver who did not ask
 * for it.
 */
export const whileApproving = async <Done>(
  { stack, asApprover }: Repository,
  runs: readonly string[],
  work: () => Promise<Done>,
): Promise<Done> => {
  let isOver = false;
  const approve = async (): Promise<void> => {
    while (!isOver) {
      const { items } = await until('the pending requests are listed', () =>
        stack.system.client.ask('approvals', 'list', { status: 'pending' }),
      );
      for (const { id } of items.filter(({ task }) => runs.includes(task))) {
        const { code, err } = await asApprover('approval', 'approve', id, '--comment', 'looks right');
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
        throw new Error('the approver has stopped');
      }),
    ]);
  } finally {
    isOver = true;
    await approving;
  }
};
