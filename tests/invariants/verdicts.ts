import { isDeepStrictEqual } from 'node:util';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { isGivingUp } from '@holdpoint/contracts/workflow/failure-class';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

/** The events that carry a verdict, and the verdicts that may lead to each. */
const LEADS_TO: Readonly<Record<string, ReadonlySet<Verdict['kind']>>> = {
  node_retrying: new Set<Verdict['kind']>(['retry', 'rollback', 'continue']),
  restarted: new Set<Verdict['kind']>(['retry', 'rollback']),
  rollback_ordered: new Set<Verdict['kind']>(['rollback']),
  handoff_ordered: new Set<Verdict['kind']>(['continue']),
  node_escalated: new Set<Verdict['kind']>(['skip', 'escalate']),
};

/** The job was given up because operators decide about it. */
const isPause = ({ rule }: Verdict): boolean => rule.endsWith('/paused');

const withoutHint = ({ hint: _, ...verdict }: Verdict): Omit<Verdict, 'hint'> => verdict;

type Memory = {
  /** By node: its latest failed attempt. */
  readonly failed: Map<string, number>;
  /** By node and attempt: every verdict, in order. */
  readonly verdicts: Map<string, readonly Verdict[]>;
};

/** Every failure has one verdict, and exactly that verdict is followed. */
export const watchVerdicts = (expect: Expect) => {
  const memory = memoryOf((): Memory => ({ failed: new Map(), verdicts: new Map() }));

  return {
    ofRecovery: ({ aggregate, event }: Pick<Committed<RecoveryEvent>, 'aggregate' | 'event'>): void => {
      if (event.type !== 'assessed') return;
      const { verdicts } = memory(aggregate);
      const job = `${event.node} ${String(event.attempt)}`;
      const known = verdicts.get(job) ?? [];
      const [first] = known;
      // A verdict that cannot be followed is replaced once, by one that gives up. A repeat that an operator
      // ordered may fail later, in the same attempt.
      const isReplaced =
        first !== undefined &&
        isGivingUp(event.verdict) &&
        (isPause(event.verdict) ? !known.some(isPause) : known.length === 1 && !isGivingUp(first));
      expect('a failure has one verdict', first === undefined || isReplaced, aggregate, () => job);
      verdicts.set(job, [...known, event.verdict]);
    },
    ofTask: ({ aggregate, event }: Pick<Committed<TaskEvent>, 'aggregate' | 'event'>): void => {
      const { failed, verdicts } = memory(aggregate);
      if (event.type === 'node_failed') failed.set(event.node, event.attempt);
      if (!('verdict' in event) || event.verdict === undefined) return;
      // A route back names its target; `route` is the node that failed.
      const node = event.type === 'restarted' ? (event.route ?? event.node) : event.node;
      const { verdict } = event;
      const job = `${node} ${String(failed.get(node))}`;
      const known = verdicts.get(job)?.at(-1);
      expect(
        'the verdict decides what follows a failure',
        known !== undefined &&
          isDeepStrictEqual(withoutHint(verdict), withoutHint(known)) &&
          LEADS_TO[event.type]?.has(verdict.kind) === true,
        aggregate,
        () => `${event.type} of ${job}: ${JSON.stringify({ verdict, known })}`,
      );
    },
  };
};
