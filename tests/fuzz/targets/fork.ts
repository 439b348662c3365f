import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { taskIdFrom } from '@holdpoint/contracts/values/ids';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import { forkAt } from '@holdpoint/orchestrator/task/fork';
import { histories } from '@holdpoint/orchestrator/testing/tasks';
import fc from 'fast-check';
import { stored } from '../promises.ts';
import { graphHistories } from '../situations/graphs.ts';
import { type Answers, runThrough } from '../situations/world.ts';
import { target } from '../target.ts';

type Input = { readonly situation: string; readonly version: number; readonly says: Answers };

const all: Readonly<Record<string, readonly TaskEvent[]>> = { ...histories, ...graphHistories };

/** A fork from any version of any task runs to an end of its own, or the version does not exist. */
export const fork = target<Input>({
  name: 'fork',
  runs: 150,
  reaches: ['completed', 'failed', 'no such version'],
  cases: {
    'versions of tasks': fc.record({
      situation: fc.constantFrom(...Object.keys(all)),
      version: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 8 }) },
        { weight: 1, arbitrary: fc.constant(Number.MAX_SAFE_INTEGER) },
      ),
      says: fc.record({
        outcomes: fc.array(
          fc.constantFrom(
            'succeeded' as const,
            'succeeded' as const,
            'failed' as const,
            'clean' as const,
            'exhausted' as const,
          ),
          { minLength: 1, maxLength: 4 },
        ),
        approve: fc.boolean(),
        verdict: fc.constantFrom('skip' as const, 'escalate' as const, 'by the table' as const),
        found: fc.boolean(),
        stuck: fc.array(fc.constantFrom(...StuckAnswer.options), { maxLength: 3 }),
      }),
    }),
  },
  check: ({ situation, version, says }) => {
    // Read back from its stored form.
    const history = (all[situation] ?? []).map((event) => TaskEvent.parse(stored(event)));
    const message = forkAt(history, version, { task: taskIdFrom('fork'), by: 'ada' });
    return message === undefined ? 'no such version' : runThrough(message, says);
  },
});
