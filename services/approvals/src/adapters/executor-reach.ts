import type { ExecutorReach } from '@holdpoint/contracts/approval/enrolment';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import type { ServiceEvent } from '../aggregates.ts';
import { unreachableBy } from '../executor/reach.ts';
import { listExecutors } from '../queries/executors.ts';

/** Interval of reads that do not depend on events: only a takeover needs them. */
const READ_EVERY_MS = 15_000;

/**
 * The announced targets of all enrolled executors, possibly a moment out of date. The executor refuses a
 * target that this copy lets pass.
 */
export const followExecutorReach = (pool: Pool, log: Logger) => {
  let reaches: readonly (ExecutorReach | undefined)[] = [];
  const read = async (): Promise<void> => {
    try {
      const executors = await listExecutors(pool);
      reaches = executors.filter(({ status }) => status === 'enrolled').map(({ reach }) => reach);
    } catch (error) {
      log.warn(errorFields(error), 'the targets of executors could not be read: using the previous ones');
    }
  };
  void read();
  const reading = startPeriodic('targets of executors', READ_EVERY_MS, read, log);
  return {
    unreachable: (effect: CanonicalEffect): string | undefined => unreachableBy(effect, reaches),
    /** Reads again when an executor has announced other targets. */
    onCommitted: ({ event }: CommittedEvent<ServiceEvent>): void => {
      if (event.type === 'executor_enrolled' || event.type === 'executor_revoked') void read();
    },
    stop: (): Promise<void> => reading.stop(),
  };
};
