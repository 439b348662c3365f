import { ENDPOINT_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OwnEndpoints } from '@holdpoint/runtime/bus/api';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { requirePerson, type VerifyIdentity } from '@holdpoint/runtime/service/identity';
import type { Pool } from 'pg';
import { forgetExecutor, listExecutors } from '../adapters/ledger/executor-registry.ts';
import type { ToEffect } from '../adapters/runner/runner.ts';

export type ExecutorQueries = {
  readonly pool: Pool;
  readonly verifyIdentity: VerifyIdentity;
  /** One line about the confinement of work. */
  readonly work: string;
  readonly log: Logger;
};

/** The executors of the ledger, and the end of one that is gone for good. */
export const executorEndpoints = ({
  pool,
  verifyIdentity,
  work,
  log,
}: ExecutorQueries): Pick<OwnEndpoints<'executor', ToEffect>, 'executors' | 'forget'> => ({
  executors: { query: async () => ({ items: await listExecutors(pool), work }) },
  forget: {
    query: async ({ name, reason }, { header }) => {
      const { sub } = requirePerson(verifyIdentity, header, ENDPOINT_SCOPES.executor.forget, Date.now());
      const isKnown = await forgetExecutor(pool, name, reason, sub);
      const forgotten = (await listExecutors(pool)).find((each) => each.name === name);
      if (!isKnown || forgotten === undefined)
        throw new HoldpointError('EXECUTOR_UNKNOWN_INSTANCE', `Unknown executor: ${name}`);
      log.warn({ name, by: sub, reason }, 'an executor was forgotten: its unreported starts are unknown');
      return forgotten;
    },
  },
});
