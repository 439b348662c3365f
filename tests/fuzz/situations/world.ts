import { isEndPhase } from '@holdpoint/contracts/task/status';
import assert from 'node:assert/strict';
import type { RequestApproval, StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import type { RegistryCommand, Notification } from '@holdpoint/contracts/task/registry';
import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import { taskIdFrom, type TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { AcquireCircuit } from '@holdpoint/contracts/recovery/circuit';
import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import { StepInput } from '@holdpoint/contracts/task/step';
import type { RecoverTask, SubmitTask, WatchTask } from '@holdpoint/contracts/task/commands';
import type { z } from 'zod';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import { taskDecider } from '@holdpoint/orchestrator/task/decide';
import type { TaskMessage } from '@holdpoint/orchestrator/task/model/messages';
import { nodeState, type Task, type TaskState } from '@holdpoint/orchestrator/task/model/state';
import { verdictOf } from '@holdpoint/orchestrator/testing/tasks';
import { attemptsDecider, type AttemptsMessage } from '@holdpoint/recovery/attempts/decide';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { checkReceivable, NOW } from '../decisions.ts';

/** The answers of all other participants, used in turn, so that an input determines a run. */
export type Answers = {
  readonly outcomes: readonly (Outcome | 'clean' | 'in_doubt' | 'lost' | 'exhausted')[];
  readonly approve: boolean;
  /** Always the same verdict, or recovery's own. */
  readonly verdict: VerdictKind | 'by the table';
  readonly found: boolean;
  /** The answers about stuck jobs, in turn. Later jobs are skipped. */
  readonly stuck?: readonly StuckAnswer[];
};

const about = (notification: Notification): TaskMessage => ({
  kind: 'notify',
  task: notification.task,
  payload: { id: notification.task, notification },
});

const boardAnswers = ({ id, request }: RegistryCommand, { found }: Answers): readonly TaskMessage[] => {
  switch (request.kind) {
    case 'acquire': {
      const { task, node, attempt } = request;
      return [about({ kind: 'locks', task, node, attempt, repository: id, acquired: true, waitingFor: [] })];
    }
    case 'release':
      return [];
    case 'report':
      return [about({ kind: 'reported', task: request.task, serial: request.serial })];
    case 'require': {
      const { task, node, attempt, labels } = request;
      const state = found ? ('available' as const) : ('failed' as const);
      const artifactStates = labels.map((label) => ({ label, state, by: 't-2/made' }));
      return [about({ kind: 'artifacts', task, node, attempt, artifactStates })];
    }
  }
};

/** The result of work, with its usage. */
const workOf = (outcome: Outcome | 'exhausted', turn: number) => ({
  outcome: outcome === 'exhausted' ? ('failed' as const) : outcome,
  exitCode: outcome === 'succeeded' ? 0 : 1,
  report: {
    approach: turn % 2 === 0 ? 'a cache in front of the parser' : 'the parser without its recursion',
    usage: { inputTokens: 100, outputTokens: 10, costUsd: 0.1, durationMs: 1_000 },
    ...(outcome === 'exhausted' && { stop: 'context_exhausted' as const }),
  },
});

const effectAnswer = ({ id, attempt, effect }: RunEffect, says: Answers, turn: number): TaskMessage => {
  const outcome = says.outcomes[turn % Math.max(1, says.outcomes.length)] ?? 'succeeded';
  const event = { id, attempt, task: effect.task, node: effect.node, epoch: 1 };
  const error = { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' };
  if (outcome === 'clean') return { kind: 'effect', event: { type: 'failed_clean', ...event, error } };
  if (outcome === 'in_doubt')
    return { kind: 'effect', event: { type: 'in_doubt', ...event, reason: 'lost', next: 'person' } };
  if (outcome === 'lost') {
    const doubt = { reason: 'lost', next: 'person', cause: 'worker_lost' } as const;
    return { kind: 'effect', event: { type: 'in_doubt', ...event, ...doubt } };
  }
  if (CAPABILITIES[effect.uses]?.stage !== true)
    return { kind: 'effect', event: { type: 'applied', ...event, outputs: {} } };
  // A stage returns the artifacts that it was asked for.
  const { artifacts } = StepInput.parse(effect.args);
  const outputs =
    artifacts === undefined
      ? workOf(outcome, turn)
      : {
          outcome: 'succeeded',
          outputs: {
            artifacts: Object.fromEntries(artifacts.map((each) => [artifactLabel(each), says.found])),
          },
        };
  return { kind: 'effect', event: { type: 'applied', ...event, outputs } };
};

/** The answer about an effect in doubt, which the executor believes. */
const doubtAnswer = ({ approve }: Answers) => {
  const answer = approve ? ('applied' as const) : ('not_applied' as const);
  return { outcome: 'answered' as const, answer, statement: answer };
};

const settled = ({ id, task, node, attempt, statement }: ResolveEffect): TaskMessage => {
  const event = { id, task, node, attempt, epoch: 1 };
  return statement === 'applied'
    ? { kind: 'effect', event: { type: 'applied', ...event, outputs: { outcome: 'succeeded' } } }
    : { kind: 'effect', event: { type: 'not_applied', ...event, reason: 'ada said so', by: 'person' } };
};

const approvalAnswer = (asked: RequestApproval, says: Answers): TaskMessage => {
  const { id, task, node, revision } = asked;
  const { approve } = says;
  if (asked.inDoubt !== undefined) {
    const said = { by: 'ada', at: NOW, ...doubtAnswer(says) };
    return { kind: 'approval', event: { type: 'resolved', id, task, node, revision, ...said } };
  }
  const decided = approve
    ? { outcome: 'approved' as const, grant: 'granted', validUntil: NOW + 3_600_000 }
    : { outcome: 'rejected' as const };
  return {
    kind: 'approval',
    event: { type: 'resolved', id, task, node, revision, by: 'ada', at: NOW, ...decided },
  };
};

/** After the listed answers, stuck jobs are skipped. */
const stuckAnswer = (
  { id, task, node, revision }: RequestApproval,
  { stuck = [] }: Answers,
  asked: number,
): TaskMessage => {
  const said = { outcome: 'answered' as const, answer: stuck[asked] ?? 'skip', by: 'ada', at: NOW };
  return { kind: 'approval', event: { type: 'resolved', id, task, node, revision, ...said } };
};

/** Recovery bounds every verdict; a constant verdict would not end. */
const SAME_MAX = 5;

/** What the other participants remember of a run. */
type Memory = {
  readonly stuck: Map<string, number>;
  readonly verdicts: Map<string, number>;
  readonly submitted: Set<string>;
  readonly tellRecovery: (message: AttemptsMessage) => readonly RecoverTask[];
};

const createMemory = (): Memory => {
  let state = attemptsDecider.initial;
  return {
    stuck: new Map(),
    verdicts: new Map(),
    submitted: new Set(),
    tellRecovery: (message) => {
      const made = attemptsDecider.decide(state, message, { now: NOW });
      state = made.events.reduce((reached, event) => attemptsDecider.evolve(reached, event), state);
      for (const { subject, data } of made.send) checkReceivable({ subject, body: JSON.stringify(data) });
      const suggested = made.send.filter(({ subject }) => subject === subjects.taskCommand('recover'));
      return suggested.map(({ data }) => data as RecoverTask);
    },
  };
};

/** Adds one and returns the earlier count. */
const counted = (counts: Map<string, number>, key: string): number => {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before;
};

const verdictAnswers = (failure: AssessFailure, says: Answers, memory: Memory): readonly TaskMessage[] => {
  const { task, node, attempt } = failure;
  if (says.verdict === 'by the table')
    return memory
      .tellRecovery({ kind: 'assess', payload: failure })
      .map((payload) => ({ kind: 'recover', task, payload }));
  const kind = counted(memory.verdicts, node) < SAME_MAX ? says.verdict : 'escalate';
  const verdict: Verdict = { ...verdictOf(kind), ...(kind === 'rollback' && { commit: 'c'.repeat(40) }) };
  return [{ kind: 'recover', task, payload: { task, node, attempt, verdict } }];
};

/** A submission by a task is accepted unchanged. */
const checkSubmittable = (payload: SubmitTask, task: TaskId): void => {
  const made = taskDecider.decide(taskDecider.initial, { kind: 'submit', task, payload }, { now: NOW });
  assert.equal(made.answer !== undefined && 'error' in made.answer, false, JSON.stringify(made.answer));
};

const answersTo = (
  { subject, data }: Outgoing,
  says: Answers,
  turn: number,
  memory: Memory,
): readonly TaskMessage[] => {
  const [, , aggregate, command] = subject.split('.');
  switch (`${String(aggregate)}.${String(command)}`) {
    case 'effect.run':
      return [effectAnswer(data as RunEffect, says, turn)];
    case 'effect.resolve':
      return [settled(data as ResolveEffect)];
    case 'approval.request': {
      const approvalRequest = data as RequestApproval;
      if (approvalRequest.stuck === undefined) return [approvalAnswer(approvalRequest, says)];
      return [stuckAnswer(approvalRequest, says, counted(memory.stuck, approvalRequest.node))];
    }
    case 'task.registry':
      return boardAnswers(data as RegistryCommand, says);
    case 'task.watch': {
      const { id: peer, watcher: task, node } = data as z.infer<typeof WatchTask>;
      const otherwise = memory.submitted.has(peer) ? ('failed' as const) : ('unknown' as const);
      const outcome = says.found ? ('succeeded' as const) : otherwise;
      return [about({ kind: 'peer', task, peer, outcome, ...(node !== undefined && { node }) })];
    }
    case 'task.submit': {
      const payload = data as SubmitTask;
      checkSubmittable(payload, payload.id ?? taskIdFrom('other'));
      memory.submitted.add(String(payload.id));
      return [];
    }
    case 'recovery.assess':
      return verdictAnswers(data as AssessFailure, says, memory);
    case 'recovery.record_attempt':
    case 'recovery.job_unstuck':
      memory.tellRecovery({ kind: command, payload: data } as AttemptsMessage);
      return [];
    case 'recovery.circuit_acquire': {
      const { task, target: circuit, outcome: ended } = data as AcquireCircuit;
      if (ended !== undefined) return [];
      return [{ kind: 'circuit_state', task, payload: { id: task, circuit, state: 'closed' } }];
    }
    default:
      return [];
  }
};

/** More than every task of this size needs. */
const TURNS_MAX = 3_000;

/** A person may have to decide, or an artifact may come from a later task. */
const waitsForOthers = (task: Task): boolean =>
  task.phase === 'paused' ||
  task.definition.nodes.some(({ id }) => {
    const { status, wait, paused } = nodeState(task, id);
    return (
      paused === true ||
      status === 'escalated' ||
      (status === 'waiting' && (wait?.kind === 'artifacts' || wait?.kind === 'preconditions'))
    );
  });

/**
 * Runs a task until it ends or needs an outside participant. A task without any timer or message that could
 * wake it is a fault.
 */
export const runThrough = (first: TaskMessage, says: Answers): string => {
  let state: TaskState = taskDecider.initial;
  let now = NOW;
  let turn = 0;
  const memory = createMemory();
  const queue: TaskMessage[] = [first];
  const timers = new Map<string, { readonly dueAt: number; readonly data: Json }>();
  for (let message = queue.shift(); message !== undefined; message = queue.shift()) {
    turn += 1;
    const before: TaskState = state;
    const made = taskDecider.decide(before, message, { now });
    if (made.answer !== undefined && 'error' in made.answer && before.phase === 'absent')
      return made.answer.error.code;
    state = made.events.reduce<TaskState>((reached, event) => taskDecider.evolve(reached, event), before);
    for (const event of made.events) {
      const subject = subjects.event('task', event.type, event.id);
      checkReceivable({ subject, body: JSON.stringify(event) });
    }
    assert.deepEqual(taskDecider.decide(state, message, { now }).events, []);
    for (const change of made.timers) {
      if ('set' in change) timers.set(change.set, { dueAt: change.dueAt, data: change.data ?? null });
      else timers.delete(change.clear);
    }
    for (const sent of made.send) {
      checkReceivable({ subject: sent.subject, body: JSON.stringify(sent.data) });
      queue.push(...answersTo(sent, says, turn, memory));
    }
    if (state.phase === 'absent' || turn > TURNS_MAX) break;
    if (queue.length > 0) continue;
    if (isEndPhase(state.phase) || waitsForOthers(state)) return state.phase;
    const [next] = [...timers].sort(([, one], [, other]) => one.dueAt - other.dueAt);
    assert.ok(next !== undefined, `nothing can wake it any more: ${JSON.stringify(state.counts)}`);
    const [name, { dueAt, data }] = next;
    timers.delete(name);
    now = Math.max(now, dueAt);
    queue.push({ kind: 'timer', name, data });
  }
  assert.ok(turn <= TURNS_MAX, `it goes on and on: ${JSON.stringify(state)}`.slice(0, 4_000));
  return state.phase;
};
