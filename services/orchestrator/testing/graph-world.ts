import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import type { RegistryRequest, NotifyTask } from '@holdpoint/contracts/task/registry';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type NodeId, repositoryIdOf, TaskId } from '@holdpoint/contracts/values/ids';
import { artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import type { Json } from '@holdpoint/contracts/values/json';
import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Decision, Outgoing, TimerChange } from '@holdpoint/runtime/decider';
import { registryDecider, type RegistryMessage } from '../src/registry/decide.ts';
import type { RegistryState } from '../src/registry/state.ts';
import { taskDecider } from '../src/task/decide.ts';
import type { TaskMessage } from '../src/task/model/messages.ts';
import { nodeState, type TaskState } from '../src/task/model/state.ts';
import { branch, shared } from './graphs.ts';
import { REPOSITORY } from './play.ts';
import { byHand, NOW, submit, TASK, verdictOf } from './tasks.ts';

/** One decision with the states around it, and the registry before it. */
export type Decided = {
  readonly message: TaskMessage;
  readonly now: number;
  readonly before: TaskState;
  readonly made: Decision<TaskEvent>;
  readonly after: TaskState;
  readonly board: RegistryState;
  readonly timers: ReadonlySet<string>;
};

/** Replies of the environment: random, or always good. */
export type Mood = { readonly good: boolean; readonly dice: number };
const GOOD: Mood = { good: true, dice: 0 };

export type Move =
  | { readonly kind: 'deliver' | 'drop' | 'again' | 'tick'; readonly pick: number; readonly dice: number }
  | { readonly kind: 'hand'; readonly pick: number; readonly dice: number };

type Timers = Map<string, { readonly dueAt: number; readonly data: Json }>;
type InFlight =
  | { readonly to: 'task'; readonly message: TaskMessage }
  | { readonly to: 'board'; readonly message: RegistryMessage }
  | { readonly to: 'world'; readonly sent: Outgoing };
type Run = {
  readonly id: string;
  readonly attempt: number;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly grant?: string;
};

const isWork = ({ effect }: Run): boolean => effect.kind === 'work';

const keep = (timers: Timers, changes: readonly TimerChange[]): void => {
  for (const change of changes) {
    if ('set' in change) timers.set(change.set, { dueAt: change.dueAt, data: change.data ?? null });
    else timers.delete(change.clear);
  }
};

const resultOf = (run: Run, { good, dice }: Mood): StepResult => {
  const { uses } = run.effect;
  if (uses.endsWith('repository.inspect')) {
    const { artifacts = [] } = run.effect.args as unknown as StepInput;
    const there = artifacts.map((each) => [artifactLabel(each), good || dice % 3 !== 0] as const);
    const met = good || dice % 4 !== 1;
    const preconditions = [{ kind: 'clean_worktree', met, detail: 'as it is' }];
    return { outcome: 'succeeded', outputs: { artifacts: Object.fromEntries(there), preconditions } };
  }
  if (uses.endsWith('.preview')) {
    if (good || dice % 4 < 2) return { outcome: 'succeeded', outputs: { commits: dice % 3 } };
    return dice % 4 === 2 ? { outcome: 'succeeded', outputs: { already: true } } : { outcome: 'blocked' };
  }
  const context =
    dice % 5 === 0 ? { context: { worktree: dice % 2 === 0 ? `w${String(dice % 7)}` : null } } : {};
  const ok = { outcome: 'succeeded', outputs: { ok: good || dice % 2 === 0 }, ...context } as const;
  if (good || dice % 16 < 12) return ok;
  return dice % 16 < 15
    ? { outcome: 'failed', exitCode: 1, hint: `it said ${String(dice % 4)}`, ...context }
    : { outcome: 'blocked', detail: 'something is in the way' };
};

const PROBLEMS = [
  { type: 'failed_clean', epoch: 1, error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' } },
  { type: 'failed_clean', epoch: 1, error: { code: 'EXECUTOR_PATH_REFUSED', message: 'no' } },
  { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'person' },
  { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'person', cause: 'worker_lost' },
  { type: 'refused', error: { code: 'EXECUTOR_GRANT_EXPIRED', message: 'late' } },
  { type: 'refused', error: { code: 'EXECUTOR_GRANT_INVALID', message: 'no' } },
] as const;

const factOf = (run: Run, mood: Mood): EffectEvent => {
  const { id, attempt, effect } = run;
  const about = { id, attempt, task: effect.task, node: effect.node };
  const problem = mood.good || mood.dice % 7 < 6 ? undefined : PROBLEMS[mood.dice % PROBLEMS.length];
  if (problem !== undefined && !(isWork(run) && problem.type === 'refused'))
    return { ...problem, ...about, order: run } as unknown as EffectEvent;
  const outputs = effect.uses === 'cap.file.append' ? { line: 1 } : resultOf(run, mood);
  return { type: 'applied', epoch: 1, outputs, ...about } as unknown as EffectEvent;
};

const STANDINGS: ReadonlySet<EffectEvent['type']> = new Set(['applied', 'not_applied', 'in_doubt']);

const VERDICTS = ['retry', 'retry', 'escalate', 'skip', 'continue', 'rollback'] as const;

const REFUSALS = [
  ['rejected', 'grace'],
  ['changes_requested', 'grace'],
  ['expired', 'expiry'],
  ['changes_requested', 'expiry'],
] as const;

type Said = { readonly id: string; readonly attempt: number; readonly statement: string };

/** The outcome of an effect in doubt after an answer. */
const settled = (run: Run, epoch: number, statement: string, mood: Mood, about: object): EffectEvent => {
  if (statement.endsWith('not_applied'))
    return { type: 'not_applied', ...about, epoch, reason: 'grace said so', by: 'person' } as EffectEvent;
  if (statement.endsWith('applied')) {
    const outputs = { outcome: 'succeeded', detail: 'grace said so' };
    return { type: 'applied', ...about, epoch, outputs } as unknown as EffectEvent;
  }
  const again = factOf(run, mood);
  return 'epoch' in again ? { ...again, epoch: again.epoch + epoch } : again;
};

/**
 * A task with its environment: the real registry decider, an executor that remembers its outcomes, approvals,
 * recovery, other tasks, and a bus that loses, repeats and reorders messages.
 */
export const createWorld = (submission: SubmitTask) => {
  const steps: Decided[] = [];
  const flight: InFlight[] = [];
  const past: TaskMessage[] = [];
  const timers: Timers = new Map();
  const boardTimers: Timers = new Map();
  const outcomes = new Map<string, EffectEvent>();
  const decisions = new Map<string, TaskMessage>();
  const runs = new Map<string, Run>();
  let state: TaskState = taskDecider.initial;
  let board: RegistryState = registryDecider.initial;
  let now = NOW;

  const post = (sent: Outgoing): void => {
    if (sent.subject === 'hp.cmd.task.registry') {
      const { id, request } = sent.data as { id: never; request: RegistryRequest };
      flight.push({ to: 'board', message: { kind: 'registry', id, request } });
    } else if (sent.subject === 'hp.cmd.task.notify') {
      const payload = sent.data as unknown as NotifyTask;
      if (payload.id === TASK) flight.push({ to: 'task', message: { kind: 'notify', payload, task: TASK } });
    } else flight.push({ to: 'world', sent });
  };

  const tell = (message: TaskMessage): void => {
    const before = state;
    const made = taskDecider.decide(before, message, { now });
    state = made.events.reduce((reached, event) => taskDecider.evolve(reached, event), before);
    if (message.kind === 'timer') timers.delete(message.name);
    else past.push(message);
    keep(timers, made.timers);
    steps.push({ message, now, before, made, after: state, board, timers: new Set(timers.keys()) });
    for (const sent of made.send) post(sent);
  };

  const tellBoard = (message: RegistryMessage): void => {
    const made = registryDecider.decide(board, message, { now });
    board = made.events.reduce((reached, event) => registryDecider.evolve(reached, event), board);
    if (message.kind === 'timer') boardTimers.delete(message.name);
    keep(boardTimers, made.timers);
    for (const sent of made.send) post(sent);
  };

  const answer = (message: TaskMessage): void => void flight.push({ to: 'task', message });

  /** An applied effect stays applied; work runs again in each attempt. */
  const execute = (run: Run, mood: Mood): void => {
    const key = `${run.id} ${String(run.attempt)} ${run.grant ?? ''}`;
    const about = { attempt: run.attempt };
    const applied = outcomes.get(run.id);
    const known = applied === undefined ? outcomes.get(key) : { ...applied, ...about };
    const event = known ?? factOf(run, mood);
    outcomes.set(key, event);
    runs.set(run.id, run);
    if (!isWork(run) && known !== undefined && STANDINGS.has(known.type)) {
      const prevented = { type: 'duplicate_prevented', id: run.id, ...about, outcome: known.type };
      answer({ kind: 'effect', event: { ...prevented, task: TASK, node: run.effect.node } as EffectEvent });
    }
    // An effect that failed may run again in the next attempt.
    const failed = ['failed', 'blocked'].includes(
      String((event as { outputs?: { outcome?: string } }).outputs?.outcome),
    );
    if (event.type === 'applied' && !failed) outcomes.set(run.id, event);
    answer({ kind: 'effect', event });
  };

  const takeBack = (data: { id: string; node: NodeId; attempt: number; reason: string }): void => {
    const { id, node, attempt, reason } = data;
    const known = [...outcomes].find(([key]) => key.startsWith(`${id} ${String(attempt)} `))?.[1];
    const ended = known !== undefined && (known.type === 'applied' || known.type === 'in_doubt');
    const event = ended ? known : { type: 'cancelled', id, task: TASK, node, attempt, reason };
    if (!ended) outcomes.set(`${id} ${String(attempt)} `, event as EffectEvent);
    answer({ kind: 'effect', event: event as EffectEvent });
  };

  const resolve = (id: string, about: object, { good, dice }: Mood): void => {
    const [outcome, by] =
      good || dice % 8 < 5
        ? (['approved', 'grace'] as const)
        : (REFUSALS[dice % REFUSALS.length] ?? REFUSALS[0]);
    const lasts = good || dice % 5 > 0 ? 3_600_000 : 6_000;
    const grant = outcome === 'approved' ? { grant: `grant ${id}`, validUntil: now + lasts } : {};
    const surface = by === 'expiry' ? { surface: 'clock' } : {};
    const said = { type: 'resolved', id, task: TASK, ...about, outcome, by, at: now, ...grant, ...surface };
    const message = { kind: 'approval', event: said } as unknown as TaskMessage;
    const known = decisions.get(id) ?? message;
    decisions.set(id, known);
    answer(known);
  };

  /** An answer about a stuck job. */
  const answerStuck = (id: string, about: object, { good, dice }: Mood): void => {
    const answered = StuckAnswer.options[dice % StuckAnswer.options.length];
    const end =
      good || dice % 8 < 7
        ? { outcome: 'answered', answer: good ? 'retry' : answered }
        : { outcome: 'expired' };
    const said = { type: 'resolved', id, task: TASK, ...about, ...end, by: 'grace', at: now };
    const known = decisions.get(id) ?? ({ kind: 'approval', event: said } as unknown as TaskMessage);
    decisions.set(id, known);
    answer(known);
  };

  /** An answer about an effect in doubt, with its statement for the executor. */
  const answerDoubt = (id: string, about: object, { good, dice }: Mood): void => {
    const chosen = good ? 'applied' : InDoubtAnswer.options[dice % InDoubtAnswer.options.length];
    const end =
      good || dice % 8 < 7
        ? { outcome: 'answered', answer: chosen, statement: `it is ${String(chosen)}` }
        : { outcome: 'expired' };
    const said = { type: 'resolved', id, task: TASK, ...about, ...end, by: 'grace', at: now };
    const known = decisions.get(id) ?? ({ kind: 'approval', event: said } as unknown as TaskMessage);
    decisions.set(id, known);
    answer(known);
  };

  /** The executor applies the answer: resolved, or run again. */
  const settleDoubt = ({ id, attempt, statement }: Said, mood: Mood): void => {
    const run = runs.get(id);
    if (run === undefined) return;
    const key = `${id} ${String(attempt)} ${run.grant ?? ''}`;
    const about = { id, attempt, task: TASK, node: run.effect.node };
    const known = outcomes.get(id) ?? outcomes.get(key);
    if (known?.type !== 'in_doubt')
      return known === undefined ? undefined : answer({ kind: 'effect', event: known });
    const event = settled(run, known.epoch, statement, mood, about);
    outcomes.set(key, event);
    if (event.type === 'applied') outcomes.set(id, event);
    answer({ kind: 'effect', event });
  };

  const handle = ({ subject, data }: Outgoing, mood: Mood): void => {
    const [, , aggregate, name] = subject.split('.');
    const said = data as unknown as {
      id: string;
      node: NodeId;
      attempt: number;
      revision: number;
      reason: string;
      watcher: string;
    };
    switch (`${String(aggregate)}.${String(name)}`) {
      case 'effect.run':
        return execute(data as unknown as Run, mood);
      case 'effect.cancel':
        return takeBack(said);
      case 'effect.resolve':
        return settleDoubt(data as unknown as Said, mood);
      case 'approval.request':
        if ((data as { stuck?: object }).stuck !== undefined)
          return answerStuck(said.id, { node: said.node, revision: said.revision }, mood);
        if ((data as { inDoubt?: object }).inDoubt !== undefined)
          return answerDoubt(said.id, { node: said.node, revision: said.revision }, mood);
        return resolve(said.id, { node: said.node, revision: said.revision }, mood);
      case 'approval.cancel': {
        const about = { id: said.id, task: TASK, node: said.node, revision: said.revision };
        const event = { type: 'resolved', ...about, outcome: 'cancelled', by: 'orchestrator', at: now };
        const known = decisions.get(said.id) ?? ({ kind: 'approval', event } as unknown as TaskMessage);
        decisions.set(said.id, known);
        return answer(known);
      }
      case 'recovery.assess': {
        const { refused, paused } = data as { readonly refused?: string; readonly paused?: string };
        const usual = mood.good ? 'retry' : VERDICTS[mood.dice % VERDICTS.length];
        const kind = refused === undefined && paused === undefined ? usual : 'escalate';
        const commit = kind === 'rollback' ? { commit: 'a'.repeat(40) } : {};
        const why = paused === undefined ? {} : { reason: paused };
        const verdict = { ...verdictOf(kind ?? 'retry', mood.dice % 3 === 0 ? 0 : 1_000), ...commit, ...why };
        const payload = { task: TASK, node: said.node, attempt: said.attempt, verdict };
        return answer({ kind: 'recover', payload, task: TASK });
      }
      // Nothing waits for these messages.
      case 'recovery.record_attempt':
      case 'recovery.job_unstuck':
      case 'task.submit':
      case 'task.cancel':
        return undefined;
      case 'task.watch': {
        const outcome = mood.good
          ? 'succeeded'
          : (['succeeded', 'succeeded', 'failed', 'unknown'] as const)[mood.dice % 4];
        const node = said.node === undefined ? {} : { node: said.node };
        const notification = {
          kind: 'peer',
          task: TASK,
          peer: TaskId.parse(said.id),
          outcome,
          ...node,
        } as never;
        return answer({ kind: 'notify', payload: { id: TASK, notification }, task: TASK });
      }
      default:
        throw new Error(`nobody answers ${subject}`);
    }
  };

  const take = (at: number): InFlight | undefined =>
    flight.splice(at % Math.max(1, Math.min(flight.length, 6)), 1)[0];

  const deliver = (item: InFlight | undefined, mood: Mood): void => {
    if (item === undefined) return;
    if (item.to === 'task') tell(item.message);
    else if (item.to === 'board') tellBoard(item.message);
    else handle(item.sent, mood);
  };

  /** Advances the clock to the next timer of the task or the registry. */
  const tick = (): boolean => {
    const due = [
      ...[...timers].map(([name, timer]) => ({ name, ...timer, of: 'task' })),
      ...[...boardTimers].map(([name, timer]) => ({ name, ...timer, of: 'board' })),
    ].toSorted((one, other) => one.dueAt - other.dueAt)[0];
    if (due === undefined) return false;
    now = Math.max(now, due.dueAt);
    const message = { kind: 'timer', name: due.name, data: due.data } as const;
    if (due.of === 'task') tell(message);
    else tellBoard(message);
    return true;
  };

  const nodes = submission.definition?.nodes.map(({ id }) => id) ?? [];
  const hand = (pick: number, dice: number): void => {
    const node = nodes[pick % nodes.length] as NodeId;
    const attempt = state.phase === 'absent' ? 1 : nodeState(state, node).attempt;
    const commands = [
      () => byHand('pause'),
      () => byHand('resume'),
      () => byHand('resume'),
      () => byHand('pause', { node }),
      () => byHand('resume', { node }),
      () => byHand('resume', { node }),
      () => byHand('skip', { node }),
      () => byHand('done', { node }),
      () => byHand('cancel', { node }),
      () => byHand('retry'),
      () => byHand('retry', { node, attempt }),
      () => byHand('retry', { node, rewind: true }),
      () => byHand('retry', { rewind: true }),
      () => byHand('cancel'),
    ];
    // Cancelled tasks are rare, because they end at once.
    const at = dice % commands.length === commands.length - 1 ? (dice % 5 === 0 ? dice : 0) : dice;
    const command = commands[at % commands.length];
    if (command !== undefined) tell(command());
  };

  const move = ({ kind, pick, dice }: Move): void => {
    switch (kind) {
      case 'deliver':
        return flight.length === 0 ? void tick() : deliver(take(pick), { good: false, dice });
      case 'drop':
        return void take(pick);
      case 'again':
        return past.length === 0 ? undefined : tell(past[pick % past.length] as TaskMessage);
      case 'tick':
        return void tick();
      case 'hand':
        return hand(pick, dice);
    }
  };

  /** Every open request gets the expected answer. */
  const help = (): void => {
    if (state.phase === 'absent') return;
    for (const id of nodes) if (nodeState(state, id).paused === true) tell(byHand('resume', { node: id }));
    if (state.pausedByHand) tell(byHand('resume'));
    if (nodes.some((id) => state.phase !== 'absent' && nodeState(state, id).status === 'escalated'))
      tell(byHand('retry'));
    if (submission.repository === undefined) return;
    const artifacts = [shared('y'), branch('z')].map((each) => ({
      label: artifactLabel(each),
      node: 'n' as NodeId,
      state: 'available' as const,
    }));
    const request = { kind: 'report' as const, task: TaskId.parse('t-other'), serial: now, artifacts };
    tellBoard({ kind: 'registry', id: repositoryIdOf(REPOSITORY), request });
  };

  return {
    steps,
    state: () => state,
    board: () => board,
    begin: () => tell(submit(submission)),
    move,
    help,
    /** The next step when all goes well. False when nothing can happen any more. */
    wellOnce: (): boolean => {
      if (flight.length > 0) return (deliver(flight.shift(), GOOD), true);
      return tick();
    },
  };
};
export type World = ReturnType<typeof createWorld>;
