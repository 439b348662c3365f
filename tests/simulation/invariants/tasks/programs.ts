import { isEndPhase } from '@holdpoint/contracts/task/status';
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '@holdpoint/contracts/values/json';
import type { Entry } from '@holdpoint/contracts/program/recording';
import type { WorkRequest, WorkAnswer } from '@holdpoint/contracts/program/work';
import { entryIn } from '@holdpoint/executor/effect/state';
import { effectsOf, entryOf, hasEnded, type Program, type ProgramTaskEvent } from '@holdpoint/programs/state';
import { type ProgramChange, programsIn, taskIn, type TaskChange } from '../../event-states.ts';
import { ProgramState } from '../../workload/programs.ts';
import type { Application } from '../../outside/target.ts';
import type { World } from '../../world.ts';
import { mayRepeat } from '../effects.ts';
import { excuseOfQuestion } from './waiting.ts';

type Of<Type extends ProgramTaskEvent['type']> = Extract<ProgramTaskEvent, { readonly type: Type }>;
type Ending = Of<'phase_completed'> | Of<'input_requested'>;

const UNDER_A_LEASE: ReadonlySet<string> = new Set([
  'phase_recorded',
  'phase_suspended',
  'phase_returned',
  'phase_retry_prepared',
  'phase_completed',
  'phase_skipped',
]);

const outputOf = (entry: Entry | undefined): Json | undefined =>
  entry?.kind === 'step' ? entry.output : undefined;

/** The log lines that follow from the records of the phase. */
const linesOf = (task: Program, state: ProgramState): readonly (Json | undefined)[] => {
  const item = state.plan[state.at];
  if (item === undefined) return [];
  const { entries, attempt } = task;
  const steps = Array.from({ length: item.steps }, (_, at) => at);
  switch (task.node as string) {
    case 'each':
      return steps.map((at) => outputOf(entries.find(({ key }) => key.startsWith(`item:${String(at)}.`))));
    case 'batches': {
      const inRound = (round: number): readonly (Json | undefined)[] => {
        const key = (at: number) => `run:${String(attempt)}.${String(round)}/item:${String(at)}.`;
        const outputs = steps.map((at) => outputOf(entries.find((entry) => entry.key.startsWith(key(at)))));
        return outputs.includes(undefined) ? [] : [...outputs, ...inRound(round + 1)];
      };
      return inRound(1);
    }
    case 'rounds':
      return entries.flatMap((entry) => {
        const output = outputOf(entry);
        if (!entry.key.startsWith(`run:${String(attempt)}.`)) return [];
        return [(output as { readonly output: Json } | undefined)?.output];
      });
    case 'act':
      return ['acted'];
    default: {
      const artifact = entryOf(task, 'artifact:a');
      return [
        ...steps.map((at) => outputOf(entryOf(task, `step:s${String(at)}`))),
        ...(item.artifact ? [artifact?.kind === 'artifact' ? artifact.artifact.sha256 : undefined] : []),
        ...(item.key === undefined ? [] : ['did']),
      ];
    }
  }
};

const WORKS: ReadonlySet<string> = new Set([
  'work',
  'tries',
  'pauses',
  'each',
  'batches',
  'rounds',
  'maybe',
  'asks',
  'act',
]);
/** Phases without the effect of their item. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['each', 'batches', 'rounds']);

/** The state that an attempt starts from. */
const startOf = ({ retried, state }: Program): ProgramState => ProgramState.parse(retried?.state ?? state);

/** The state after the work of a phase. `isAsking`: its question is still open. */
const expectedState = (task: Program, next: string | undefined, isAsking: boolean): ProgramState => {
  const before = startOf(task);
  const node: string = task.node;
  const after = (lines: readonly (Json | undefined)[], by: number): ProgramState => ({
    ...before,
    at: before.at + by,
    log: [...before.log, ...(lines as readonly string[])],
  });
  const hookLine = (name: string): readonly string[] => [outputOf(entryOf(task, `step:${name}`)) as string];
  const isRefused = node === 'act' && next === 'dropped';
  if (task.activation === 'respond') {
    const paused = ProgramState.parse(task.paused?.state ?? {});
    if (task.answer?.outcome !== 'answered') return paused;
    const lines = [JSON.stringify(task.answer.response), ...(node === 'review' ? hookLine('after') : [])];
    return { ...paused, at: paused.at + 1, log: [...paused.log, ...lines] };
  }
  if (node === 'skipped') return after(['skipped'], 1);
  if (node === 'review') return after(hookLine('before'), 0);
  if (!WORKS.has(node) || isRefused) return after([], 0);
  return after(linesOf(task, before), isAsking ? 0 : 1);
};

type EffectRequest = { readonly program: string; readonly key: string };

/** The leases, records, effects and answers of programs. */
export const watchPrograms = (world: World) => {
  const { checker, books, target } = world;
  /** By task and lease: the worker, and the records from before the lease. */
  const holders = new Map<string, string>();
  const recorded = new Map<string, ReadonlySet<string>>();
  const endings = new Set<string>();
  /** By child task: the effect of the program. */
  const children = new Map<string, EffectRequest>();
  const happened = new Map<string, number>();
  /** Child tasks that an operator completed or skipped by hand. */
  const byHand = new Set<string>();
  const keyOf = (task: string, lease: number): string => `${task} ${String(lease)}`;

  const checkLease = (task: string, before: Program, event: ProgramTaskEvent): void => {
    if (event.type === 'phase_ordered') {
      recorded.set(keyOf(task, event.lease), new Set(before.entries.map(({ key }) => key)));
    }
    if (event.type === 'phase_started') {
      holders.set(keyOf(task, event.lease), event.worker);
    }
  };

  /** Only endings that the worker itself reported. */
  const noteEnding = (task: string, before: Program, event: ProgramTaskEvent): void => {
    const isLost = event.type === 'phase_returned' && event.lost;
    const ends =
      event.type === 'input_requested' || event.type === 'phase_failed' || UNDER_A_LEASE.has(event.type);
    if (ends && !isLost && event.type !== 'phase_recorded' && event.type !== 'phase_retry_prepared')
      endings.add(keyOf(task, before.lease));
  };

  const checkEffect = (task: string, before: Program, { entry, effect }: Of<'phase_recorded'>): void => {
    const known = entryOf(before, entry.key);
    if (entry.kind !== 'effect' || effect === undefined) {
      checker.expect(
        'a record of a phase never changes',
        known === undefined,
        task,
        () => `${entry.key} was recorded before: ${JSON.stringify(known)}`,
      );
      return;
    }
    const isAnew =
      known?.kind === 'effect' && known.ended !== undefined && known.ended.outcome !== 'succeeded';
    checker.expect(
      'a program requests an effect again only when it did not happen',
      (known === undefined || isAnew) && !children.has(entry.task),
      task,
      () => `${entry.key}: ${JSON.stringify({ known, entry })}`,
    );
    children.set(entry.task, { program: task, key: entry.key });
  };

  const checkInformed = (task: string, { key, ended }: Of<'phase_entry_completed'>, after: Program): void => {
    const entry = entryOf(after, key);
    if (entry?.kind !== 'effect') return;
    checker.expect(
      'a program gets the real outcome of its effect',
      taskIn(books, entry.task)?.outcome === ended?.outcome,
      task,
      () => `${key}: ${JSON.stringify(ended)} of ${String(taskIn(books, entry.task)?.phase)}`,
    );
  };

  const checkState = (task: string, before: Program, event: Ending): void => {
    if (event.type === 'input_requested' && event.about === 'failure') return;
    const next = event.type === 'phase_completed' ? event.next : undefined;
    const expected = expectedState(before, next, event.type === 'input_requested');
    checker.expect(
      'the state after a phase follows from its records alone',
      isDeepStrictEqual(ProgramState.parse(event.state), expected),
      task,
      () => `${before.node}: ${JSON.stringify({ state: event.state, expected, entries: before.entries })}`,
    );
    if (event.type !== 'phase_completed') return;
    const item = ProgramState.parse(before.state).plan[ProgramState.parse(before.state).at];
    const depends =
      before.activation === 'run' && WORKS.has(before.node) && next !== 'dropped' && next !== 'skipped';
    if (!depends || item?.key === undefined || WITHOUT_EFFECT.has(before.node)) return;
    const entry = entryOf(before, `effect:${item.key}`);
    const child = entry?.kind === 'effect' ? entry.task : '';
    checker.expect(
      'a phase that needs an effect completes only after the effect',
      entry?.kind === 'effect' &&
        entry.ended?.outcome === 'succeeded' &&
        (happened.has(child) || byHand.has(child) || entry.ended.outputs === undefined),
      task,
      () => `${before.node} ${item.key ?? ''}: ${JSON.stringify(entry)}`,
    );
  };

  const checkRetryState = (
    task: string,
    before: Program,
    { state, attempt }: Of<'phase_retry_prepared'>,
  ): void => {
    const start = startOf(before);
    checker.expect(
      'onRetry runs once per attempt, on the state that the failed attempt started from',
      before.retried?.attempt !== attempt &&
        isDeepStrictEqual(ProgramState.parse(state), { ...start, tries: start.tries + 1 }),
      task,
      () => JSON.stringify({ state, attempt, retried: before.retried, start }),
    );
  };

  const checkAnswer = (task: string, before: Program, event: Of<'input_received'>): void => {
    const approval = books.approvals.stateOf(event.approval);
    const decided = approval.status === 'closed' ? approval.decided : undefined;
    const { outcome, response } = event.answer;
    checker.expect(
      'a program gets the real answer to its question',
      before.question?.approval === event.approval &&
        (outcome === 'answered'
          ? decided?.outcome === 'answered' && isDeepStrictEqual(decided.response, response)
          : decided !== undefined && decided.outcome !== 'answered'),
      task,
      () => JSON.stringify({ event, decided }),
    );
  };

  const checkEnd = (task: string, before: Program, { event, after }: ProgramChange): void => {
    if (event.type === 'phase_retrying')
      checker.expect(
        'a retried phase is a new attempt',
        event.attempt === before.attempt + 1,
        task,
        () => `${String(event.attempt)} after ${String(before.attempt)}`,
      );
    if (event.type === 'completed' && !isEndPhase(before.phase))
      checker.expect(
        'a program completes with its last phase',
        after.phase !== 'absent' && before.node === 'done',
        task,
        () => before.node,
      );
  };

  return {
    ofProgram: (change: ProgramChange): void => {
      const { aggregate, before, event, after } = change;
      if (before.phase === 'absent') return;
      checkLease(aggregate, before, event);
      noteEnding(aggregate, before, event);
      checkEnd(aggregate, before, change);
      if (event.type === 'phase_recorded') checkEffect(aggregate, before, event);
      if (event.type === 'phase_entry_completed') checkInformed(aggregate, event, after as Program);
      if (event.type === 'phase_completed' || event.type === 'input_requested')
        checkState(aggregate, before, event);
      if (event.type === 'input_received') checkAnswer(aggregate, before, event);
      if (event.type === 'phase_retry_prepared') checkRetryState(aggregate, before, event);
    },
    ofTask: ({ aggregate, event }: TaskChange): void => {
      const isByHand =
        (event.type === 'node_succeeded' && event.by !== undefined) ||
        event.type === 'node_skipped' ||
        event.type === 'in_doubt_answered';
      if (isByHand) byHand.add(aggregate);
    },
    applied: ({ effect }: Application): void => {
      const order = entryIn(books.executor.stateOf(effect))?.order;
      const request = order && children.get(order.effect.task);
      if (order === undefined || request === undefined) return;
      happened.set(order.effect.task, (happened.get(order.effect.task) ?? 0) + 1);
      const all = [...children]
        .filter(([, { program, key }]) => program === request.program && key === request.key)
        .map(([child]) => happened.get(child) ?? 0);
      checker.expect(
        'an effect of a program happens at most once for its key',
        all.reduce((sum, count) => sum + count, 0) === 1 || mayRepeat(order),
        request.program,
        () =>
          `${request.key}: ${JSON.stringify([...all])} by ${order.effect.task}, ${String(target.applications(effect))}`,
      );
    },
    said: ({ task, lease, request: say }: WorkRequest): void => {
      if (say.kind !== 'record' || say.record.kind !== 'step') return;
      const { key } = say.record;
      checker.expect(
        'a recorded step does not run again',
        recorded.get(keyOf(task, lease))?.has(key) !== true,
        task,
        () => `${key} under lease ${String(lease)}`,
      );
    },
    heard: ({ task, lease, worker, request: say }: WorkRequest, answer: WorkAnswer): void => {
      const key = keyOf(task, lease);
      const isHeard = say.kind === 'end' ? endings.has(key) : answer.lease === lease;
      checker.expect(
        'only the holder of a lease is accepted',
        isHeard && holders.get(key) === worker,
        task,
        () => `${worker} says ${say.kind} under ${key}, which ${String(holders.get(key))} holds`,
      );
    },
  };
};

/** By status: the timer that resends. */
const TIMERS: Readonly<Partial<Record<Program['status'], string>>> = {
  ordered: 'order',
  started: 'lease',
  asked: 'question',
  retrying: 'retry',
};

/** A waiting program has a timer that resends. Unwanted effects are withdrawn in the same way. */
export const checkMovingProgram = ({ checker, databases, books }: World, task: Program): void => {
  const { timers } = databases.orchestrator.tables;
  const has = (name: string): boolean => timers.has(`${task.id}/${name}`);
  const name = TIMERS[task.status];
  if (name !== undefined && !task.pausedByHand)
    checker.expect(
      'a waiting program has a timer that resends',
      has(name),
      task.id,
      () => `no timer ${name}: ${task.node} is ${task.status}`,
    );
  for (const { task: child, ended, key } of effectsOf(task)) {
    const peer = taskIn(books, child);
    // A tombstone refuses the submission of the effect: there is nothing to withdraw any more.
    const isBuried = 'tombstone' in books.orchestrator.stateOf(child);
    if (ended !== undefined || isBuried || (peer !== undefined && isEndPhase(peer.phase))) continue;
    checker.expect(
      task.status === 'ended'
        ? 'an ended program withdraws its effects'
        : 'a waiting program has a timer that resends',
      has(`withdraw:${child}`) || (task.status !== 'ended' && has(`effect:${child}`)),
      task.id,
      () => `${key}: nothing asks for ${child}, ${String(peer?.phase)}`,
    );
  }
};

/** Why a program may wait after every user has responded, or undefined. */
const excuseOf = (world: World, task: Program): string | undefined => {
  switch (task.status) {
    case 'ordered':
      return task.program.version !== '1' && task.waits !== undefined ? 'there is no worker' : undefined;
    case 'asked':
      return excuseOfQuestion(world, task.question?.approval);
    case 'suspended':
      return (task.suspendedOn ?? []).some((key) => {
        const entry = entryOf(task, key);
        const child = entry?.kind === 'effect' ? taskIn(world.books, entry.task) : undefined;
        return child !== undefined && !isEndPhase(child.phase) && !hasEnded(entry);
      })
        ? 'an effect waits'
        : undefined;
    default:
      return undefined;
  }
};

/** Long after the last event: each open program has a reason to wait. Returns the open ones. */
export const checkWaitingPrograms = (world: World): readonly Program[] => {
  const { checker, books } = world;
  for (const task of programsIn(books).filter(({ status }) => status === 'ended'))
    for (const { task: child, ended } of effectsOf(task)) {
      const phase = taskIn(books, child)?.phase;
      checker.expect(
        'an ended program withdraws its effects',
        ended !== undefined || phase === undefined || isEndPhase(phase),
        task.id,
        () => `${child} is ${String(phase)}`,
      );
    }
  const open = programsIn(books).filter(({ phase, status }) => !isEndPhase(phase) && status !== 'ended');
  for (const task of open)
    checker.expect(
      'a waiting program states a person, an effect or a missing worker as its reason',
      excuseOf(world, task) !== undefined,
      task.id,
      () => `${task.node} is ${task.status}: ${JSON.stringify({ ...task, program: undefined })}`,
    );
  return open;
};

export const checkProgramsEnded = (world: World): void => {
  const { checker, books } = world;
  for (const { id, phase, question } of programsIn(books)) {
    checker.expect('every program ends', isEndPhase(phase), id, () => phase);
    const approvalState = question && books.approvals.stateOf(question.approval);
    checker.expect(
      'every question of a program is closed',
      approvalState === undefined || approvalState.status !== 'pending',
      id,
      () => JSON.stringify(question),
    );
  }
};
