import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { CommandId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { PhaseEnd, ProgramQuestion, WorkRequest } from '@holdpoint/contracts/program/work';
import type { ProgramDefinition, ProgramOnError } from '@holdpoint/contracts/program/definition';
import type { ProgramEffect, WorkRecord } from '@holdpoint/contracts/program/recording';
import { programDecider } from '../src/decide.ts';
import { evolve } from '../src/evolve.ts';
import type { ProgramMessage } from '../src/messages.ts';
import type { Program, ProgramTaskEvent, ProgramState } from '../src/state.ts';

/** For tests: a task that runs a program, and messages to it. */
export const TASK = 't-1' as TaskId;
export const NOW = 1_000_000;
export const node = (name: string): NodeId => name as NodeId;

export const onError = (strategy: ProgramOnError['strategy'], maxRetries = 0): ProgramOnError => ({
  strategy,
  maxRetries,
  backoff: 'exponential',
  delayMs: 1_000,
});

/** draft → review (a person) → publish (an effect) → done. */
export const programWith = (draft: Partial<{ onError: ProgramOnError }> = {}): ProgramDefinition => ({
  id: 'reply',
  version: '1',
  code: 'a'.repeat(64),
  initial: node('draft'),
  snapshotEvery: 2,
  phases: [
    { type: 'agent', id: node('draft'), next: [node('review')], ...draft },
    { type: 'human', id: node('review'), input: 'approval' },
    { type: 'effect', id: node('publish'), next: [node('done')] },
    { type: 'terminal', id: node('done'), outcome: 'succeeded' },
    { type: 'terminal', id: node('dropped'), outcome: 'failed' },
  ],
});

export const submission = (
  program = programWith(),
  inputs: JsonObject = { topic: 'tea' },
): ProgramMessage => ({
  kind: 'submit',
  task: TASK,
  payload: { id: TASK, workflow: 'reply@1', goal: 'Answer the letter', program, inputs, requestedBy: 'ada' },
});

export const say = (
  lease: number,
  what: WorkRequest['request'],
  worker = 'worker-1',
): Extract<ProgramMessage, { readonly kind: 'work' }> => ({
  kind: 'work',
  payload: { task: TASK, lease, worker, request: what },
});
export const claim = (lease: number, worker?: string) =>
  say(lease, { kind: 'claim', withInput: true }, worker);
export const beat = (lease: number, worker?: string) => say(lease, { kind: 'heartbeat' }, worker);
export const end = (lease: number, how: PhaseEnd, worker?: string) =>
  say(lease, { kind: 'end', end: how }, worker);
export const record = (lease: number, what: WorkRecord, worker?: string) =>
  say(lease, { kind: 'record', record: what }, worker);
export const timer = (name: string, data: Json = null): ProgramMessage => ({ kind: 'timer', name, data });

export const completed = (next?: string, state: JsonObject = { topic: 'tea' }, output?: Json): PhaseEnd => ({
  kind: 'completed',
  state,
  ...(output !== undefined && { output }),
  ...(next !== undefined && { next: node(next) }),
});
export const failedWith = (message = 'no tea', code = 'PROGRAM_PHASE_FAILED'): PhaseEnd => ({
  kind: 'failed',
  stage: 'run',
  error: { code, message },
});
export const question: ProgramQuestion = { title: 'Shall it go out?', input: { kind: 'approval' } };
export const inputRequested = (state: JsonObject = { topic: 'tea' }): PhaseEnd => ({
  kind: 'input_requested',
  state,
  question,
});

export const effect = (args: JsonObject = { file: 'out.txt', line: '{{ as it is }}' }): ProgramEffect => ({
  kind: 'write_external',
  uses: 'cap.file.append',
  args,
  target: 'file:out.txt',
  idempotencyKey: 'publish',
});

export const byHand = (kind: 'cancel' | 'pause' | 'resume' | 'retry', command = kind): ProgramMessage => ({
  kind,
  payload: { id: TASK, by: 'bob', reason: 'why not' },
  commandId: `c-${command}` as CommandId,
});

export const resolved = (
  approval: string,
  outcome: ApprovalResolved['outcome'],
  response?: Json,
): ProgramMessage => ({
  kind: 'approval',
  event: {
    type: 'resolved',
    id: approval as ApprovalResolved['id'],
    task: TASK,
    node: node('review'),
    revision: 1,
    outcome,
    by: 'cleo',
    at: NOW,
    ...(response !== undefined && { response }),
  },
});

export const peerEnded = (
  peer: string,
  outcome: 'succeeded' | 'failed' | 'blocked' | 'cancelled' | 'unknown',
  outputs?: JsonObject,
): ProgramMessage => ({
  kind: 'notify',
  notification: {
    kind: 'peer',
    task: TASK,
    peer: peer as TaskId,
    outcome,
    ...(outputs && { outputs }),
    ...(outcome === 'blocked' && { error: { code: 'ERR_FORBIDDEN', message: 'no' } }),
  },
});

/** The task after these messages. Throws when there is none. */
export const taskAfter = (...messages: readonly ProgramMessage[]): Program => {
  const state = messages.reduce<ProgramState>(
    (before, message) => programDecider.decide(before, message, { now: NOW }).events.reduce(evolve, before),
    programDecider.initial,
  );
  if (state.phase === 'absent') throw new Error('there is no task');
  return state;
};

export const typesIn = (events: readonly ProgramTaskEvent[]): readonly string[] =>
  events.map(({ type }) => type);
