import type { ProgramEvent } from '@holdpoint/contracts/program/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { isEndPhase, type TaskPhase } from '@holdpoint/contracts/task/status';
import { mayGo, mayReopen } from '@holdpoint/orchestrator/task/evolve/phases';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

type Event = TaskEvent | ProgramEvent;

/** A cancellation may overtake the submission, which is then refused. */
const FIRST: ReadonlySet<string> = new Set(['submitted', 'program_submitted', 'cancelled_before_submission']);

/** A person may restart a failed task. */
const isReopened = (from: TaskPhase, event: Event): boolean =>
  (event.type === 'phase_retrying' ||
    (event.type === 'restarted' && (event.command ?? event.by) !== undefined)) &&
  mayReopen(from, event.phase);

/** A task follows the table of phases and ends once, unless a person restarts it. */
export const watchPhases = (expect: Expect) => {
  const lastOf = memoryOf<{ phase: TaskPhase | undefined }>(() => ({ phase: undefined }));
  return ({ aggregate, event }: Pick<Committed<Event>, 'aggregate' | 'event'>): void => {
    const last = lastOf(aggregate);
    const { phase } = last;
    last.phase = event.phase;
    if (phase === undefined)
      return expect('a task starts with its submission', FIRST.has(event.type), aggregate, () => event.type);
    const step = (): string => `${phase} to ${event.phase} by ${event.type}`;
    const reopened = isReopened(phase, event);
    expect(
      'a task takes only allowed phase transitions',
      mayGo(phase, event.phase) || reopened,
      aggregate,
      step,
    );
    expect(
      'a task ends once, unless a person restarts it',
      !isEndPhase(phase) || event.phase === phase || reopened,
      aggregate,
      step,
    );
  };
};
