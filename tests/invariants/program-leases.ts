import type { ProgramEvent } from '@holdpoint/contracts/program/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

type Event = ProgramEvent | TaskEvent;

/** Only the holder of the lease can have caused these. */
const BY_HOLDER: ReadonlySet<Event['type']> = new Set([
  'phase_recorded',
  'phase_suspended',
  'phase_returned',
  'phase_retry_prepared',
  'phase_completed',
  'phase_skipped',
]);
/** These end a lease. */
const ENDS: ReadonlySet<Event['type']> = new Set([
  'phase_suspended',
  'phase_returned',
  'phase_completed',
  'phase_skipped',
  'phase_failed',
  'input_requested',
]);

type Memory = { lease: number; status: 'closed' | 'ordered' | 'started' };

/** Leases of a program rise by one, each has one holder, and only the holder records. */
export const watchLeases = (expect: Expect) => {
  const memory = memoryOf((): Memory => ({ lease: 0, status: 'closed' }));
  return ({ aggregate, event }: Pick<Committed<Event>, 'aggregate' | 'event'>): void => {
    const known = memory(aggregate);
    const detail = (): string =>
      `${event.type} under lease ${'lease' in event ? String(event.lease) : 'none'}; ${String(known.lease)} is ${known.status}`;
    if (event.type === 'phase_ordered') {
      expect('leases rise by one', event.lease === known.lease + 1, aggregate, detail);
      known.lease = event.lease;
      known.status = 'ordered';
    }
    if (event.type === 'phase_started') {
      const isFree = event.lease === known.lease && known.status === 'ordered';
      expect('a lease has one holder', isFree, aggregate, detail);
      known.status = 'started';
    }
    if (BY_HOLDER.has(event.type) && 'lease' in event)
      expect(
        'a phase is recorded only under its current lease',
        event.lease === known.lease && known.status === 'started',
        aggregate,
        detail,
      );
    if (ENDS.has(event.type)) known.status = 'closed';
  };
};
