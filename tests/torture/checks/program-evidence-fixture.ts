import type { ProgramEvidence } from '../evidence/evidence.ts';
import { childEffectOf, childOf, countedProgram, questionOf } from '../workload/program.ts';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { madeEvent, madeOperation } from './evidence-fixture.ts';

/** A program that asked a question, applied its effect and completed, although one worker died. */

export const PROGRAM_TASK = TaskId.parse('torture-x-5');
const TOKEN = 'token-1';
const GOAL = 'count it once';
const digest = 'd'.repeat(64);
const inputs = {
  task: PROGRAM_TASK,
  origin: 'http://target',
  url: 'http://target/x',
  body: { task: PROGRAM_TASK },
  token: '',
};
const state = { ...inputs, token: TOKEN };
const question = questionOf(PROGRAM_TASK);
const asks = { title: 'Count it?', input: { kind: 'approval' } };
const effect = {
  kind: 'write_external',
  uses: 'cap.http.keyed_request',
  args: {},
  target: 'http://target',
  idempotencyKey: 'count',
};
const canonical = {
  task: PROGRAM_TASK,
  node: 'review',
  uses: 'control.input',
  args: {},
  kind: 'other',
  effectClass: 'idempotent',
  target: 'people',
  idempotencyKey: 'review',
};
const about = (node: string, visit: number) => ({ id: PROGRAM_TASK, node, visit, attempt: 1 });
const ordered = (node: string, visit: number, lease: number, activation = 'run') => ({
  type: 'phase_ordered',
  ...about(node, visit),
  lease,
  activation,
});
const begun = (node: string, visit: number, lease: number) => ({
  type: 'phase_started',
  ...about(node, visit),
  lease,
  worker: `w-${String(lease)}`,
});
const entry = { kind: 'effect', key: 'effect:count', digest, task: childOf(PROGRAM_TASK) };

const events = () =>
  [
    {
      type: 'program_submitted',
      id: PROGRAM_TASK,
      phase: 'execution_ready',
      goal: GOAL,
      acceptanceCriteria: [],
      inputs,
      requestedBy: 'client',
      program: countedProgram.definition,
      hash: countedProgram.hash,
      state: inputs,
      at: 100,
      contentDigest: digest,
    },
    ordered('prepare', 1, 1),
    begun('prepare', 1, 1),
    {
      type: 'phase_recorded',
      ...about('prepare', 1),
      lease: 1,
      entry: { kind: 'step', key: 'token', output: TOKEN },
    },
    {
      type: 'phase_returned',
      ...about('prepare', 1),
      lease: 1,
      worker: 'w-1',
      reason: 'not heard of',
      lost: true,
    },
    ordered('prepare', 1, 2),
    begun('prepare', 1, 2),
    { type: 'phase_completed', ...about('prepare', 1), lease: 2, state, next: 'review' },
    ordered('review', 2, 3),
    begun('review', 2, 3),
    {
      type: 'input_requested',
      ...about('review', 2),
      phase: 'awaiting_approval',
      approval: question,
      effectId: 'e-0000000000000001',
      effect: canonical,
      digest,
      question: 1,
      asks,
      about: 'phase',
      state,
    },
    {
      type: 'input_received',
      ...about('review', 2),
      phase: 'executing',
      approval: question,
      answer: { outcome: 'answered', response: true, by: 'operator' },
    },
    ordered('review', 2, 4, 'respond'),
    begun('review', 2, 4),
    { type: 'phase_completed', ...about('review', 2), lease: 4, state, next: 'count' },
    ordered('count', 3, 5),
    begun('count', 3, 5),
    { type: 'phase_recorded', ...about('count', 3), lease: 5, entry, effect },
    { type: 'phase_suspended', ...about('count', 3), lease: 5, on: [entry.key] },
    {
      type: 'phase_entry_completed',
      ...about('count', 3),
      key: entry.key,
      ended: { outcome: 'succeeded', outputs: {} },
    },
    ordered('count', 3, 6),
    begun('count', 3, 6),
    { type: 'phase_completed', ...about('count', 3), lease: 6, state, next: 'done' },
    ordered('done', 4, 7),
    begun('done', 4, 7),
    { type: 'phase_completed', ...about('done', 4), lease: 7, state, output: TOKEN },
    { type: 'completed', id: PROGRAM_TASK, phase: 'completed', outputs: {} },
  ].map((data, i) => madeEvent(i + 1, 100 + i, { phase: 'executing', ...data }));

const operation = (...[t, call, op, type, value, actor]: Parameters<typeof madeOperation>) => ({
  ...madeOperation(t, call, op, type, value, actor),
  key: PROGRAM_TASK,
});

export const soundProgram = (): ProgramEvidence => ({
  id: PROGRAM_TASK,
  submission: { id: PROGRAM_TASK, workflow: countedProgram.id, goal: GOAL, inputs },
  question,
  child: childOf(PROGRAM_TASK),
  effect: childEffectOf(PROGRAM_TASK),
  operations: [
    operation(1, 1, 'orchestrator.submit', 'invoke', { id: PROGRAM_TASK }, 'submitter'),
    operation(2, 1, 'orchestrator.submit', 'ok', { id: PROGRAM_TASK, version: 2 }, 'submitter'),
    operation(3, 2, 'approvals.decide', 'invoke', { id: question, decision: 'respond', response: true }),
    operation(4, 2, 'approvals.decide', 'ok', { id: question, status: 'answered', by: 'operator' }),
    operation(5, 3, 'orchestrator.get', 'invoke', { id: PROGRAM_TASK }, 'watcher'),
    operation(6, 3, 'orchestrator.get', 'ok', { id: PROGRAM_TASK, version: 9 }, 'watcher'),
  ],
  program: { id: PROGRAM_TASK, head: { version: events().length, status: 'completed' }, events: events() },
  questions: [
    {
      id: question,
      head: { version: 2, status: 'answered' },
      events: [
        madeEvent(1, 110, { type: 'requested', id: question, digest, expiresAt: 9_000 }),
        madeEvent(2, 120, { type: 'resolved', id: question, outcome: 'answered', by: 'operator', at: 120 }),
      ],
    },
  ],
  applications: [{ key: childEffectOf(PROGRAM_TASK), at: 400 }],
  facts: [{ aggregate: 'task', id: PROGRAM_TASK, version: 2, type: 'changed' }],
});
