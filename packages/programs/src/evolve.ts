import type { CommandId } from '@holdpoint/contracts/values/ids';
import { withReview } from '@holdpoint/contracts/workflow/review';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import { unknownEvent } from '@holdpoint/runtime/decider';
import {
  entryOf,
  hasEnded,
  type PhaseSummary,
  type Program,
  type ProgramTaskEvent,
  type ProgramState,
} from './state.ts';

type Without<Event> = Event extends unknown ? Omit<Event, 'id' | 'phase'> : never;
/** An event without its id and phase. */
export type ProgramChange = Without<ProgramTaskEvent>;

type Of<Type extends ProgramTaskEvent['type']> = Extract<ProgramTaskEvent, { readonly type: Type }>;

/** A repeat comes while its acknowledgement is missing, not after this many other commands. */
const COMMANDS_KEPT = 50;
/** Limit for the failures that the next attempt sees. */
const FAILURES_KEPT = 10;

const created = (event: Of<'program_submitted'>): Program => ({
  kind: 'program',
  id: event.id,
  version: 1,
  phase: event.phase,
  goal: event.goal,
  acceptanceCriteria: event.acceptanceCriteria,
  inputs: event.inputs,
  requestedBy: event.requestedBy,
  ...(event.agent !== undefined && { agent: event.agent }),
  contentDigest: event.contentDigest,
  ...(event.repository !== undefined && { repository: event.repository }),
  submittedAt: event.at,
  program: event.program,
  hash: event.hash,
  state: event.state,
  node: event.forkedFrom?.node ?? event.program.initial,
  visit: 1,
  attempt: 1,
  status: 'held',
  activation: 'run',
  lease: 0,
  losses: 0,
  entries: event.forkedFrom?.entries ?? [],
  asked: {},
  wanted: {},
  failures: [],
  questions: 0,
  ended: 0,
  seen: {},
  pausedByHand: false,
  watchers: [],
});

const rememberCommand = (task: Program, command: CommandId | undefined): Program => {
  const { commands = [] } = task;
  return command === undefined || commands.includes(command)
    ? task
    : { ...task, commands: [...commands, command].slice(-COMMANDS_KEPT) };
};

const withPhaseSummary = (
  task: Program,
  node: string,
  how: Omit<PhaseSummary, 'attempt'>,
): Program['seen'] => ({
  ...task.seen,
  [node]: { ...how, attempt: task.attempt },
});

/** No worker holds the phase any more. */
const withoutWorker = ({ worker: _, ...task }: Program): Program => task;

/** Reviews and artifacts of a phase are shown with the requests of the task. */
const withEvidence = (task: Program, { entry, node, attempt }: Of<'phase_recorded'>): Program => {
  if (entry.kind === 'review')
    return withReview(task, { ...entry.review, node, attempt, by: `phase ${node}` });
  if (entry.kind !== 'artifact') return task;
  const { uri, name } = entry.artifact;
  return { ...task, artifact: { kind: 'artifact', name, uri, node, attempt } };
};

const withRecord = (before: Program, event: Of<'phase_recorded'>): Program => {
  const { entry, effect } = event;
  const task = withEvidence(before, event);
  const known = entryOf(task, entry.key) !== undefined;
  const entries = known
    ? task.entries.map((each) => (each.key === entry.key ? entry : each))
    : [...task.entries, entry];
  if (entry.kind !== 'effect') return { ...task, entries, losses: 0 };
  const { count = 0 } = task.asked[entry.key] ?? {};
  const asked = { count: count + 1, visit: task.visit, attempt: task.attempt };
  return {
    ...task,
    entries,
    losses: 0,
    asked: { ...task.asked, [entry.key]: asked },
    wanted: effect === undefined ? task.wanted : { ...task.wanted, [entry.key]: effect },
  };
};

const withRecordEnded = (task: Program, { key, ended }: Of<'phase_entry_completed'>): Program => ({
  ...task,
  wanted: Object.fromEntries(Object.entries(task.wanted).filter(([of]) => of !== key)),
  entries: task.entries.map((entry) => {
    if (entry.key !== key) return entry;
    if (entry.kind === 'sleep') return { ...entry, over: true };
    return entry.kind === 'effect' && ended !== undefined ? { ...entry, ended } : entry;
  }),
});

/** The next phase starts with only the state and the effects. */
const withNextPhase = (task: Program, node: Program['node'] | undefined, visit: number): Program => {
  const {
    retried: _retried,
    question: _question,
    paused: _paused,
    answer: _answer,
    suspendedOn: _suspended,
    waits: _waits,
    ...rest
  } = withoutWorker(task);
  return {
    ...rest,
    node: node ?? task.node,
    ...(node !== undefined && { from: task.node }),
    visit,
    attempt: 1,
    status: 'held',
    activation: 'run',
    losses: 0,
    entries: task.entries.filter(({ kind }) => kind === 'effect'),
    failures: [],
    ended: task.ended + 1,
  };
};

/** The attempt restarts the phase. Its records and the state of `onRetry` remain. */
const withNextAttempt = (task: Program, attempt: number, command: CommandId | undefined): Program => {
  const {
    question: _question,
    paused: _paused,
    answer: _answer,
    suspendedOn: _suspended,
    outcome: _outcome,
    error: _error,
    ...rest
  } = withoutWorker(task);
  return rememberCommand({ ...rest, attempt, status: 'retrying', activation: 'run', losses: 0 }, command);
};

const withQuestion = (task: Program, event: Of<'input_requested'>): Program => {
  const { approval, effectId, effect, digest, about, asks, state, output, question } = event;
  return {
    ...withoutWorker(task),
    status: 'asked',
    questions: question,
    question: { approval, effectId, effect, digest, about, asks },
    ...(state !== undefined && { paused: { state, asks, ...(output !== undefined && { output }) } }),
  };
};

const withEnd = (task: Program, outcome: NonNullable<Program['outcome']>): Program => {
  // The question is withdrawn, so a late answer does not count.
  const { suspendedOn: _, waits: _waits, question: _question, ...rest } = withoutWorker(task);
  return { ...rest, status: 'ended', outcome };
};

const fold = (task: Program, event: Exclude<ProgramTaskEvent, Of<'program_submitted'>>): Program => {
  switch (event.type) {
    case 'phase_ordered': {
      const { suspendedOn: _, ...rest } = withoutWorker(task);
      return { ...rest, status: 'ordered', lease: event.lease, activation: event.activation };
    }
    case 'phase_started': {
      const { waits: _, ...rest } = task;
      const known = { ...rest.seen, [event.node]: { status: 'open', attempt: event.attempt } as const };
      return { ...rest, status: 'started', worker: event.worker, seen: known };
    }
    case 'phase_waiting':
      return { ...task, waits: event.reason };
    case 'phase_recorded':
      return withRecord(task, event);
    case 'phase_entry_completed':
      return withRecordEnded(task, event);
    case 'phase_suspended':
      return { ...withoutWorker(task), ...doneBy(task), status: 'suspended', suspendedOn: event.on };
    case 'phase_returned':
      return { ...withoutWorker(task), status: 'held', losses: task.losses + (event.lost ? 1 : 0) };
    case 'phase_retry_prepared':
      return { ...task, retried: { attempt: event.attempt, state: event.state } };
    case 'phase_completed': {
      const output = event.output === undefined ? {} : { output: event.output };
      const known = withPhaseSummary(task, event.node, { status: 'succeeded', ...output });
      const next = withNextPhase(
        { ...task, ...doneBy(task), state: event.state, seen: known },
        event.next,
        event.next === undefined ? task.visit : task.visit + 1,
      );
      return { ...next, ...output };
    }
    case 'phase_skipped': {
      const known = withPhaseSummary(task, event.node, { status: 'skipped' });
      return withNextPhase({ ...task, ...doneBy(task), seen: known }, event.next, task.visit + 1);
    }
    case 'phase_failed': {
      const { attempt, stage, error } = event;
      const failures = [...task.failures, { attempt, stage, error }].slice(-FAILURES_KEPT);
      const known = withPhaseSummary(task, event.node, { status: 'failed', error });
      return { ...withoutWorker(task), ...doneBy(task), status: 'held', failures, seen: known };
    }
    case 'phase_retrying':
      return withNextAttempt(task, event.attempt, event.command);
    case 'input_requested':
      return { ...withQuestion(task, event), ...doneBy(task) };
    case 'input_received': {
      const { question: _, ...rest } = task;
      return { ...rest, status: 'held', answer: event.answer };
    }
    case 'state_checkpoint':
      return task;
    case 'review_recorded':
      return rememberCommand(withReview(task, event.review), event.command);
    case 'watcher_added':
      return { ...task, watchers: [...task.watchers, event.watcher] };
    case 'paused':
      return rememberCommand({ ...task, pausedByHand: true }, event.command);
    case 'resumed':
      return rememberCommand({ ...task, pausedByHand: false }, event.command);
    case 'completed':
      return withEnd(task, 'succeeded');
    case 'failed':
      return { ...withEnd(task, event.outcome ?? 'failed'), error: event.error };
    case 'cancelled':
      return withEnd(task, 'cancelled');
    default:
      return unknownEvent(event);
  }
};

/** The lease and worker of the applied end. */
const doneBy = ({ lease, worker }: Program): Pick<Program, 'done'> =>
  worker === undefined ? {} : { done: { lease, worker } };

export const evolve = (state: ProgramState, event: ProgramTaskEvent): ProgramState => {
  if (event.type === 'program_submitted') return created(event);
  if (state.phase === 'absent') throw new Error(`the task does not exist, but has event ${event.type}`);
  const task = state;
  return { ...fold(task, event), version: task.version + 1, phase: event.phase };
};

/** The task phase during a program phase. */
const phaseFor = (task: Program): TaskPhase => {
  if (task.pausedByHand) return 'paused';
  switch (task.status) {
    case 'asked':
      return task.question?.about === 'failure' ? 'paused' : 'awaiting_approval';
    case 'retrying':
      return 'recovering';
    case 'suspended': {
      const waits = (task.suspendedOn ?? []).map((key) => entryOf(task, key));
      return waits.some((entry) => entry?.kind === 'effect' && !hasEnded(entry))
        ? 'awaiting_approval'
        : 'executing';
    }
    default:
      return 'executing';
  }
};

/** The only rule for the phase of the task after an event. */
export const taskPhaseAfter = (state: ProgramState, change: ProgramChange): TaskPhase => {
  switch (change.type) {
    case 'program_submitted':
      return 'execution_ready';
    case 'completed':
    case 'failed':
    case 'cancelled':
      return change.type;
    default: {
      if (state.phase === 'absent') throw new Error(`the task does not exist, but has event ${change.type}`);
      const task = state;
      // Watchers may come after the end.
      if (
        change.type === 'watcher_added' ||
        change.type === 'phase_entry_completed' ||
        change.type === 'review_recorded'
      ) {
        if (task.status === 'ended') return task.phase;
      }
      return phaseFor(fold(task, { ...change, id: task.id, phase: task.phase } as never));
    }
  }
};
