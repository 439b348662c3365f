import { isDeepStrictEqual } from 'node:util';
import { TaskPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import type { Operation } from '../history.ts';
import type { StoredAggregate, TaskEvidence } from '../evidence/evidence.ts';
import { endOf } from '../workload/graph.ts';
import { stateOf } from './effects.ts';
import { wasLeftToPeople } from './graphs.ts';
import { type Check, type Finding, takeNotes } from './check.ts';

const SUBMIT = 'orchestrator.submit';
const CONFLICTING = 'conflicting';

/** A caller learnt that it exists. */
const isKnown = ({ operations }: TaskEvidence): boolean =>
  operations.some(
    ({ op, type, actor }) => type === 'ok' && op.startsWith('orchestrator.') && actor !== CONFLICTING,
  );

/** The task is escalated to a person, with a reason. */
const waitsForPerson = ({ events }: StoredAggregate): boolean => {
  const escalated = events.findLast(({ type }) => type === 'node_escalated' || type === 'node_retrying');
  const reason = escalated?.data['reason'];
  return escalated?.type === 'node_escalated' && typeof reason === 'string' && reason !== '';
};

export const submissions: Check = {
  id: 'K8',
  promise: 'an accepted task exists as submitted, and has ended or waits for a person with a reason',
  ofTask: (evidence) => {
    const { expect, finding } = takeNotes(evidence.id);
    const { task, meant } = evidence;
    if (isKnown(evidence)) expect(task !== undefined, () => 'it was accepted and does not exist');
    if (task === undefined) return finding();
    const submitted = task.events[0]?.data ?? {};
    const { goal, inputs } = meant.submission;
    expect(
      submitted['goal'] === goal && isDeepStrictEqual(submitted['inputs'], inputs),
      () => 'it differs from its submission',
    );
    const phase = TaskPhase.safeParse(task.events.at(-1)?.data['phase']).data;
    expect(
      phase !== undefined && (isEndPhase(phase) || (phase === 'paused' && waitsForPerson(task))),
      () => `it is ${String(phase)} at the end, without an open question`,
    );
    return finding();
  },
  ofRun: ({ strangers, settled }) => {
    const { expect, finding } = takeNotes();
    expect(strangers.length === 0, () => `tasks without a submission: ${strangers.join(', ')}`);
    expect(
      settled.afterMs !== undefined,
      () =>
        `after ${String(settled.withinMs / 1_000)} s not everything had settled: ${settled.left.join('; ')}`,
    );
    return finding();
  },
};

/** A person took the step of the effect as done, or skipped it: after a request for changes nothing may be applied. */
const isEndedByHand = (task: StoredAggregate, approvals: readonly StoredAggregate[]): boolean => {
  const asked = approvals.map(({ events: [first] }) => first?.data ?? {});
  const nodes = new Set(asked.filter(({ stuck }) => stuck === undefined).map(({ node }) => node));
  const ofIt = task.events.filter(({ data }) => nodes.has(data['node']));
  const end = ofIt.find(
    ({ type, data }) => type === 'node_skipped' || (type === 'node_succeeded' && data['by'] !== undefined),
  );
  return (
    end !== undefined && ofIt.some(({ type, version }) => type === 'node_escalated' && version < end.version)
  );
};

export const outcomes: Check = {
  id: 'K14',
  promise:
    'a task completes if and only if its effect was applied or its step was ended by hand, and no effect is applied without an approval',
  ofTask: ({ id, meant, task, effects, approvals, applications }) => {
    const { expect, finding } = takeNotes(id);
    if (task === undefined) return finding();
    const phase = task.events.at(-1)?.data['phase'];
    const states = effects.map(stateOf);
    if (phase === 'completed')
      expect(
        states.includes('applied') || isEndedByHand(task, approvals),
        () => 'it is completed, and its effect is not applied',
      );
    if (states.includes('applied'))
      expect(
        phase === 'cancelled' ||
          (meant.graph === undefined
            ? phase === 'completed'
            : // What a graph has beside its effect may wait for a person.
              phase === endOf(meant.graph) ||
              phase === 'paused' ||
              (phase === 'failed' && wasLeftToPeople(task))),
        () => `its effect is applied, and it is ${String(phase)}`,
      );
    const approved = approvals.some(({ events }) =>
      events.some(({ data }) => data['outcome'] === 'approved'),
    );
    if (!approved) expect(applications.length === 0, () => 'its effect was applied without an approval');
    return finding();
  },
};

type TaskOperations = { readonly id: string; readonly operations: readonly Operation[] };

const sameTask = ({ id, operations }: TaskOperations): Finding => {
  const { expect, finding } = takeNotes(id);
  for (const { op, actor, type, value } of operations) {
    if (op !== SUBMIT || (type !== 'ok' && type !== 'fail')) continue;
    const answer = value as { id?: string; code?: string } | undefined;
    if (actor === CONFLICTING)
      expect(answer?.code === 'ORCHESTRATOR_TASK_CONFLICT', () => 'other content was accepted under its id');
    else
      expect(
        type === 'ok' && answer?.id === id,
        () => `its submission was answered with ${JSON.stringify(answer)}`,
      );
  }
  return finding();
};

export const repeats: Check = {
  id: 'K16',
  promise: 'a repeated submission is the same task; other content under its id is refused',
  ofTask: sameTask,
  ofProgram: sameTask,
};

const neverPoison = ({ id, operations }: TaskOperations): Finding => {
  const { expect, finding } = takeNotes(id);
  for (const { op, type, value } of operations) {
    if (type === 'invoke') continue;
    const code =
      typeof value === 'object' && value !== null && !Array.isArray(value) ? value['code'] : undefined;
    expect(code !== 'RUNTIME_POISON', () => `${op} was answered with RUNTIME_POISON`);
  }
  return finding();
};

export const answers: Check = {
  id: 'K17',
  promise: 'a valid request gets an answer or a retryable error',
  ofTask: neverPoison,
  ofProgram: neverPoison,
};
