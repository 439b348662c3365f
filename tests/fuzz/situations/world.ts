import assert from 'node:assert/strict';
import type { RequestApproval } from '@holdpoint/contracts/approval';
import { artifactLabel } from '@holdpoint/contracts/artifact';
import type { AskBoard, Information } from '@holdpoint/contracts/board';
import { CAPABILITIES } from '@holdpoint/contracts/capabilities';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect';
import type { Json } from '@holdpoint/contracts/json';
import type { AssessFailure, VerdictKind } from '@holdpoint/contracts/recovery';
import { StepInput } from '@holdpoint/contracts/step';
import type { WatchTask } from '@holdpoint/contracts/task';
import type { z } from 'zod';
import { subjects } from '@holdpoint/contracts/subjects';
import type { Outcome } from '@holdpoint/contracts/workflow';
import { taskDecider } from '@holdpoint/orchestrator/domain/decide';
import type { TaskMessage } from '@holdpoint/orchestrator/domain/messages';
import { nodeState, type Task, type TaskState } from '@holdpoint/orchestrator/domain/state';
import { verdictOf } from '@holdpoint/orchestrator/testing/tasks';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { checkReceivable, NOW } from '../decisions.ts';

/** What everybody around a task says, one after the other and from the start again: so that an input says it all. */
export type Answers = {
  readonly outcomes: readonly (Outcome | 'clean' | 'in_doubt')[];
  readonly approve: boolean;
  readonly verdict: VerdictKind;
  readonly found: boolean;
};

const about = (information: Information): TaskMessage => ({
  kind: 'inform',
  task: information.task,
  payload: { id: information.task, information },
});

const boardAnswers = ({ id, request }: AskBoard, { found }: Answers): readonly TaskMessage[] => {
  switch (request.ask) {
    case 'acquire': {
      const { task, node, attempt } = request;
      return [about({ about: 'locks', task, node, attempt, repository: id, held: true, behind: [] })];
    }
    case 'release':
      return [];
    case 'report':
      return [about({ about: 'reported', task: request.task, serial: request.serial })];
    case 'require': {
      const { task, node, attempt, labels } = request;
      const state = found ? ('made' as const) : ('failed' as const);
      const standings = labels.map((label) => ({ label, state, by: 't-2/made' }));
      return [about({ about: 'artifacts', task, node, attempt, standings })];
    }
  }
};

const effectAnswer = ({ id, attempt, effect }: RunEffect, says: Answers, turn: number): TaskMessage => {
  const outcome = says.outcomes[turn % Math.max(1, says.outcomes.length)] ?? 'succeeded';
  const fact = { id, attempt, task: effect.task, node: effect.node, epoch: 1 };
  const error = { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' };
  if (outcome === 'clean') return { kind: 'effect', fact: { type: 'failed_clean', ...fact, error } };
  if (outcome === 'in_doubt')
    return { kind: 'effect', fact: { type: 'in_doubt', ...fact, reason: 'lost', next: 'person' } };
  if (CAPABILITIES[effect.uses]?.stage !== true)
    return { kind: 'effect', fact: { type: 'applied', ...fact, outputs: {} } };
  // What a stage is given is what it takes.
  const { artifacts } = StepInput.parse(effect.args);
  const outputs =
    artifacts === undefined
      ? { outcome, exitCode: outcome === 'succeeded' ? 0 : 1 }
      : {
          outcome: 'succeeded',
          outputs: {
            artifacts: Object.fromEntries(artifacts.map((each) => [artifactLabel(each), says.found])),
          },
        };
  return { kind: 'effect', fact: { type: 'applied', ...fact, outputs } };
};

/** Of a doubt it is said that it happened, or that it did not; the executor believes it. */
const doubtAnswer = ({ approve }: Answers) => {
  const answer = approve ? ('applied' as const) : ('not_applied' as const);
  return { outcome: 'answered' as const, answer, statement: answer };
};

const settled = ({ id, task, node, attempt, statement }: ResolveEffect): TaskMessage => {
  const fact = { id, task, node, attempt, epoch: 1 };
  return statement === 'applied'
    ? { kind: 'effect', fact: { type: 'applied', ...fact, outputs: { outcome: 'succeeded' } } }
    : { kind: 'effect', fact: { type: 'not_applied', ...fact, reason: 'ada said so', by: 'person' } };
};

const approvalAnswer = (asked: RequestApproval, says: Answers): TaskMessage => {
  const { id, task, node, revision } = asked;
  const { approve } = says;
  if (asked.doubt !== undefined) {
    const said = { by: 'ada', at: NOW, ...doubtAnswer(says) };
    return { kind: 'approval', fact: { type: 'resolved', id, task, node, revision, ...said } };
  }
  const decided = approve
    ? { outcome: 'approved' as const, grant: 'granted', validUntil: NOW + 3_600_000 }
    : { outcome: 'rejected' as const };
  return {
    kind: 'approval',
    fact: { type: 'resolved', id, task, node, revision, by: 'ada', at: NOW, ...decided },
  };
};

const answersTo = ({ subject, data }: Outgoing, says: Answers, turn: number): readonly TaskMessage[] => {
  const [, , aggregate, command] = subject.split('.');
  switch (`${String(aggregate)}.${String(command)}`) {
    case 'effect.run':
      return [effectAnswer(data as RunEffect, says, turn)];
    case 'effect.resolve':
      return [settled(data as ResolveEffect)];
    case 'approval.request':
      return [approvalAnswer(data as RequestApproval, says)];
    case 'task.board':
      return boardAnswers(data as AskBoard, says);
    case 'task.watch': {
      const { id: peer, watcher: task, node } = data as z.infer<typeof WatchTask>;
      const outcome = says.found ? ('succeeded' as const) : ('unknown' as const);
      return [about({ about: 'peer', task, peer, outcome, ...(node !== undefined && { node }) })];
    }
    case 'recovery.assess': {
      const { task, node, attempt } = data as AssessFailure;
      const verdict = verdictOf(says.verdict);
      return [{ kind: 'recover', task, payload: { task, node, attempt, verdict } }];
    }
    default:
      return [];
  }
};

/** Every task of these sizes is through long before. */
const TURNS_MAX = 3_000;

const isOver = ({ phase }: Task): boolean => ['completed', 'failed', 'cancelled'].includes(phase);
/** A person may have to say something; and an artifact may still come from a task that nobody has submitted yet. */
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
 * A task in a world in which everybody answers: it comes to an end, or somebody outside has to act. One that is left with
 * nothing that could ever wake it is half a run.
 */
export const runThrough = (first: TaskMessage, says: Answers): string => {
  let state: TaskState = taskDecider.initial;
  let now = NOW;
  let turn = 0;
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
      const subject = subjects.fact('task', event.type, event.id);
      checkReceivable({ subject, body: JSON.stringify(event) });
    }
    assert.deepEqual(taskDecider.decide(state, message, { now }).events, []);
    for (const change of made.timers) {
      if ('set' in change) timers.set(change.set, { dueAt: change.dueAt, data: change.data ?? null });
      else timers.delete(change.clear);
    }
    for (const sent of made.send) {
      checkReceivable({ subject: sent.subject, body: JSON.stringify(sent.data) });
      queue.push(...answersTo(sent, says, turn));
    }
    if (state.phase === 'absent' || turn > TURNS_MAX) break;
    if (queue.length > 0) continue;
    if (isOver(state) || waitsForOthers(state)) return state.phase;
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
