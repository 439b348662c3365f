import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Json } from '@holdpoint/contracts/values/json';
import type {
  NodeDefinition,
  WorkflowDefinition,
  WorkflowPolicy,
} from '@holdpoint/contracts/workflow/workflow';
import type { Decision, Outgoing } from '@holdpoint/runtime/decider';
import { expect } from 'vitest';
import { taskDecider } from '../src/task/decide.ts';
import type { TaskMessage } from '../src/task/model/messages.ts';
import { findNode, type NodeState, type Task, type TaskState } from '../src/task/model/state.ts';
import { brief, id } from './graphs.ts';
import { NOW, submit } from './tasks.ts';

/** A message, or a function that makes one for the current state. */
export type Say = TaskMessage | ((task: Task) => TaskMessage);
type Timer = { readonly dueAt: number; readonly data: Json };

/** A task in some state, with the last decision. */
export type Play = {
  readonly state: TaskState;
  readonly now: number;
  readonly history: readonly TaskEvent[];
  readonly timers: ReadonlyMap<string, Timer>;
  readonly made: Decision<TaskEvent>;
  /** The events of the last decision, in short. */
  readonly said: readonly string[];
  readonly task: Task;
  readonly node: (name: string) => NodeState;
  readonly statusOf: (...names: readonly string[]) => readonly string[];
  /** The messages of the last decision with this command name. */
  readonly sent: (command: string) => readonly Outgoing[];
  /** Sends messages in turn. Each must change something. */
  readonly when: (...says: readonly Say[]) => Play;
  /** Advances the clock and fires every due timer. */
  readonly wait: (ms: number) => Play;
};

const fold = (state: TaskState, events: readonly TaskEvent[]): TaskState =>
  events.reduce((before, event) => taskDecider.evolve(before, event), state);

const taskIn = (state: TaskState): Task => {
  if (state.phase === 'absent') throw new Error('there is no task');
  return state;
};

const timersAfter = (
  before: Play['timers'],
  message: TaskMessage,
  made: Decision<TaskEvent>,
): Play['timers'] => {
  const timers = new Map(before);
  if (message.kind === 'timer') timers.delete(message.name);
  for (const change of made.timers) {
    if ('set' in change) timers.set(change.set, { dueAt: change.dueAt, data: change.data ?? null });
    else timers.delete(change.clear);
  }
  return timers;
};

type Past = Pick<Play, 'state' | 'now' | 'history' | 'timers' | 'made'>;

/** Decides like the runtime, and checks that deciding is pure and idempotent. */
const decided = (past: Past, message: TaskMessage): Past => {
  const at = { now: past.now };
  const made = taskDecider.decide(past.state, message, at);
  expect(taskDecider.decide(past.state, message, at), 'deciding is a pure function').toEqual(made);
  const state = fold(past.state, made.events);
  expect(taskDecider.decide(state, message, at).events, 'the same message again changes nothing').toEqual([]);
  const timers = timersAfter(past.timers, message, made);
  return { now: past.now, state, made, timers, history: [...past.history, ...made.events] };
};

const said = (past: Past, says: readonly Say[]): Past =>
  says.reduce((before, say) => {
    const message = typeof say === 'function' ? say(taskIn(before.state)) : say;
    const after = decided(before, message);
    const changes = after.made.events.length + after.made.send.length + after.made.timers.length;
    const refused = after.made.answer !== undefined && 'error' in after.made.answer;
    expect(changes > 0 || refused, `${JSON.stringify(message)} changes something`).toBe(true);
    return after;
  }, past);

const passed = (past: Past, ms: number): Past => {
  const until = past.now + ms;
  const events: TaskEvent[] = [];
  let reached = past;
  for (let fired = 0; fired < 1_000; fired += 1) {
    const due = [...reached.timers].filter(([, { dueAt }]) => dueAt <= until);
    const next = due.toSorted(([, one], [, other]) => one.dueAt - other.dueAt)[0];
    if (next === undefined) break;
    const [name, { dueAt, data }] = next;
    reached = decided({ ...reached, now: Math.max(reached.now, dueAt) }, { kind: 'timer', name, data });
    events.push(...reached.made.events);
  }
  return { ...reached, now: until, made: { ...reached.made, events } };
};

const playOf = (past: Past): Play => ({
  ...past,
  get task() {
    return taskIn(past.state);
  },
  get said() {
    return past.made.events.map(brief);
  },
  node: (name) => {
    const state = findNode(taskIn(past.state), id(name));
    if (state === undefined) throw new Error(`there is no node ${name}`);
    return state;
  },
  statusOf: (...names) =>
    names.map((name) => findNode(taskIn(past.state), id(name))?.status ?? 'no such node'),
  sent: (command) => past.made.send.filter(({ subject }) => subject.startsWith(`hp.cmd.${command}`)),
  when: (...says) => playOf(said(past, says)),
  wait: (ms) => playOf(passed(past, ms)),
});

type Options = Partial<Omit<SubmitTask, 'definition'>> & {
  readonly policy?: Partial<WorkflowPolicy>;
  /** Open workflow circuits at submission. */
  readonly openCircuits?: readonly string[];
};

export const REPOSITORY = '/srv/app';

/** A task with this workflow, just submitted. */
export const play = (
  nodes: readonly NodeDefinition[],
  { policy, openCircuits = [], ...more }: Options = {},
): Play => {
  const definition: WorkflowDefinition = {
    id: 'graph',
    version: '1',
    nodes: [...nodes],
    ...(policy && {
      policy: { failureMode: 'block_downstream', missingProducer: 'block', ...policy },
    }),
  };
  const nothing = { events: [], send: [], timers: [], work: [] };
  const start = { state: taskDecider.initial, now: NOW, history: [], timers: new Map(), made: nothing };
  const submitMessage = submit({
    workflow: 'graph',
    goal: 'all of it',
    requestedBy: 'linus',
    definition,
    ...more,
  });
  const begun = decided(start, { ...submitMessage, openCircuits } as TaskMessage);
  if (begun.state.phase === 'absent') throw new Error(`refused: ${JSON.stringify(begun.made.answer)}`);
  return playOf(begun);
};

/** A task with this state. */
export const playFrom = (state: TaskState, now: number): Play =>
  playOf({
    state,
    now,
    history: [],
    timers: new Map(),
    made: { events: [], send: [], timers: [], work: [] },
  });
