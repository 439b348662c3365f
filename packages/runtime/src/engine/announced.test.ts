import { TaskChanged } from '@holdpoint/contracts/task/changed';
import { expect, test } from 'vitest';
import { createBatch, eventMessage } from './batch.ts';
import { decision } from '../decider.ts';
import type { AggregateKind, Kinds } from './kinds.ts';

type Event = { readonly type: string; readonly phase: string };

/** Counts its events. */
const counting: AggregateKind<number, unknown, Event> = {
  publishedAs: 'task',
  announcesChanges: true,
  decider: { initial: 0, evolve: (count) => count + 1, decide: () => decision({}) },
  summarise: () => ({ status: 'open', view: null }),
  snapshotDue: () => false,
};
const { announcesChanges: _, ...silent } = counting;
const kinds = { task: counting, registry: silent } as Kinds<Event, never>;

/** The announced events of a batch with these decisions: aggregate and types of the events. */
const announced = (...decisions: readonly (readonly [aggregate: string, types: string])[]) => {
  const batch = createBatch<Event, never>('orchestrator', kinds, { now: 0 }, ({ kind }) => ({
    kind,
    version: 0,
    state: 0,
  }));
  for (const [aggregate, types] of decisions) {
    const kind = aggregate.startsWith('t') ? 'task' : 'registry';
    const events = types.split(' ').map((type) => ({ type, phase: 'executing' }));
    batch.apply({ kind, aggregate }, decision({ events }));
  }
  const write = batch.write([]);
  expect(write.events).toHaveLength(decisions.flatMap(([, types]) => types.split(' ')).length);
  return write.announced;
};
const shortOf = (events: ReturnType<typeof announced>): readonly string[] =>
  events.map(({ aggregate, version, type }) => `${aggregate}/${String(version)} ${type}`);

test('a batch announces public events, and an internal one that is the last of its task', () => {
  expect(shortOf(announced(['t-1', 'submitted ready checkpoint']))).toEqual([
    't-1/1 submitted',
    't-1/3 checkpoint',
  ]);
});

test('a public event that is the last of its task is the only announcement', () => {
  expect(shortOf(announced(['t-1', 'node_succeeded completed']))).toEqual(['t-1/2 completed']);
});

test('several decisions about one task in a batch are announced once', () => {
  expect(shortOf(announced(['t-1', 'ready'], ['t-2', 'ready'], ['t-1', 'paused']))).toEqual([
    't-2/1 ready',
    't-1/2 paused',
  ]);
});

test('the internal events of another kind are not announced', () => {
  expect(shortOf(announced(['r-1', 'lock_queued lock_acquired']))).toEqual([]);
});

test('an announced internal event becomes the message changed with version, phase and type', () => {
  const [event] = announced(['t-1', 'ready effect_ordered']);
  if (event === undefined) throw new Error('nothing is announced');
  const { subject, headers, body } = eventMessage('orchestrator', 'task', event);
  expect(subject).toBe('hp.evt.task.changed.t-1');
  expect(Object.fromEntries(headers)).toMatchObject({
    'ce-type': 'dev.holdpoint.task.changed.v1',
    'ce-id': 'task.t-1.2',
    'ce-version': '2',
  });
  expect(TaskChanged.parse(JSON.parse(body))).toEqual(JSON.parse(body));
  expect(JSON.parse(body)).toEqual({
    type: 'changed',
    id: 't-1',
    version: 2,
    phase: 'executing',
    latest: 'effect_ordered',
  });
});
