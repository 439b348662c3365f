import { snapshotEvery } from './core.ts';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { digestOf } from '@holdpoint/contracts/values/json';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { describe, expect, test } from 'vitest';
import { createBatch, eventMessage, isEmpty } from './batch.ts';
import { decision, foldStored, questionTimer, RESEND_TIMING } from '../decider.ts';
import type { WireMessage } from './ports.ts';
import { complete } from './shared-content.ts';
import { add, letter } from '../../testing/engine-run.ts';
import { type Tally, type TallyEvent, tallyKind } from '../../testing/tally.ts';

const NOW = 1_000_000;
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const batchOf = (
  every = 1_000,
  versions: Readonly<Record<string, number>> = {},
  deliver?: (message: WireMessage) => boolean,
) =>
  createBatch(
    'executor',
    { tally: { ...tallyKind, snapshotDue: snapshotEvery(every) }, other: tallyKind },
    { now: NOW },
    ({ kind, aggregate }) => ({ kind, version: versions[aggregate] ?? 0, state: tallyKind.decider.initial }),
    deliver,
  );
const to = (aggregate: string, kind = 'tally') => ({ kind, aggregate });
const added = (key: string): TallyEvent => ({ type: 'added', key, by: 1 });

describe('a batch', () => {
  test('a batch without decisions is empty', () => {
    const batch = batchOf();
    expect(isEmpty(batch.write([]))).toBe(true);
    batch.apply(to('e-1'), decision({ answer: { ok: {} } }));
    expect(isEmpty(batch.write([]))).toBe(true);
    expect(batch.states().size).toBe(0);
  });

  test.each([
    [
      'an event',
      (batch: ReturnType<typeof batchOf>) => batch.apply(to('e-1'), decision({ events: [added('a')] })),
    ],
    [
      'a timer',
      (batch: ReturnType<typeof batchOf>) =>
        batch.apply(to('e-1'), decision({ timers: [{ set: 'x', dueAt: 1 }] })),
    ],
    [
      'a timer to clear',
      (batch: ReturnType<typeof batchOf>) => batch.apply(to('e-1'), decision({ timers: [{ clear: 'x' }] })),
    ],
    ['a dead letter', (batch: ReturnType<typeof batchOf>) => batch.keepDeadLetter(letter())],
  ])('a batch with %s is not empty', (_, act) => {
    const batch = batchOf();
    act(batch);
    expect(isEmpty(batch.write([]))).toBe(false);
  });

  test('the key that sealed a message is stored with its events, and no state shows it', () => {
    const seen: object[] = [];
    const evolve: typeof tallyKind.decider.evolve = (state, event) => {
      seen.push(event);
      return tallyKind.decider.evolve(state, event);
    };
    const kind = { ...tallyKind, decider: { ...tallyKind.decider, evolve } };
    const batch = createBatch('executor', { tally: kind }, { now: NOW }, () => ({
      kind: 'tally',
      version: 0,
      state: kind.decider.initial,
    }));
    batch.apply(to('e-1'), decision({ events: [added('a')] }), undefined, 'key-1');
    const stored = batch.write([]).events.map(({ body }) => JSON.parse(body) as TallyEvent);
    expect(stored).toEqual([{ ...added('a'), sealKey: 'key-1' }]);
    foldStored(kind.decider, kind.decider.initial, stored);
    expect(seen).toEqual([added('a'), added('a')]);
  });

  test('a field that events share is stored once, and the events name it by its digest', () => {
    const gate = { id: 'release', inputs: {} };
    const kind = { ...tallyKind, sharedFields: ['gate', 'absent'] };
    const batch = createBatch('executor', { tally: kind }, { now: NOW }, () => ({
      kind: 'tally',
      version: 0,
      state: kind.decider.initial,
    }));
    for (const id of ['e-1', 'e-2'])
      batch.apply(to(id), decision({ events: [{ ...added(id), gate }, added(`${id} again`)] }));
    const { events, shared } = batch.write([]);
    const digest = digestOf(gate);
    expect(shared).toEqual([{ digest, body: JSON.stringify(gate) }]);
    const stored = events.map(({ body }) => JSON.parse(body) as object);
    expect(stored).toEqual(
      ['e-1', 'e-2'].flatMap((id) => [{ ...added(id), shared: { gate: digest } }, added(`${id} again`)]),
    );
    const contents = new Map([[digest, gate]]);
    expect(complete(stored[0], contents)).toEqual({ ...added('e-1'), gate });
    expect(() => complete(stored[0], new Map())).toThrow(`shared content ${digest} is missing`);
  });

  test('a batch that only removes confirmed outbox rows is not empty', () => {
    expect(isEmpty(batchOf().write(['7']))).toBe(false);
    expect(batchOf().write(['7'])).toMatchObject({ outboxConfirmed: ['7'] });
  });

  test('a batch continues the versions of each aggregate', () => {
    const batch = batchOf(1_000, { 'e-2': 41 });
    for (const id of ['e-1', 'e-2', 'e-1']) batch.apply(to(id), decision({ events: [added(`of ${id}`)] }));
    expect(batch.write([]).events.map(({ aggregate, version }) => `${aggregate}/${String(version)}`)).toEqual(
      ['e-1/1', 'e-2/42', 'e-1/2'],
    );
    expect(batch.write([]).heads).toMatchObject([
      { aggregate: 'e-1', version: 2 },
      { aggregate: 'e-2', version: 42 },
    ]);
  });

  test('a batch decides each message on the state that earlier ones left', () => {
    const batch = batchOf();
    batch.apply(to('e-1'), batch.decide(to('e-1'), add('a', 5)));
    expect(batch.decide(to('e-1'), add('b')).answer).toEqual({ ok: { total: 5 } });
    expect(batch.decide(to('e-2'), add('b')).answer).toEqual({ ok: { total: 0 } });
  });

  test('a message for another kind than its aggregate is refused', () => {
    const batch = batchOf();
    batch.apply(to('e-1'), batch.decide(to('e-1'), add('a')));
    expect(() => batch.decide(to('e-1', 'other'), add('b'))).toThrow('is of kind tally');
    expect(() => batch.decide(to('e-2', 'unknown'), add('b'))).toThrow('unknown kind of aggregate');
  });

  test('the stored kind decides when two kinds share their ids', () => {
    const kinds = {
      tally: { ...tallyKind, idSpace: 'shared' },
      other: { ...tallyKind, idSpace: 'shared', summarise: () => ({ status: 'other', view: null }) },
    };
    const batch = createBatch('executor', kinds, { now: NOW }, ({ kind }) => ({
      kind,
      version: 0,
      state: tallyKind.decider.initial,
    }));
    batch.apply(to('e-1', 'other'), decision({ events: [added('a')] }));
    batch.apply(to('e-1', 'tally'), decision({ events: [added('b')] }));
    expect(batch.write([]).heads).toEqual([
      { aggregate: 'e-1', kind: 'other', version: 2, status: 'other', view: null },
    ]);
  });

  test('a decision that cannot be folded adds nothing to the batch', () => {
    const batch = batchOf();
    expect(() =>
      batch.apply(
        to('e-1'),
        decision({ events: [added('a'), { type: 'broken' }], timers: [{ clear: 'x' }] }),
      ),
    ).toThrow(TypeError);
    expect(isEmpty(batch.write([]))).toBe(true);
    expect(batch.states().size).toBe(0);
  });
});

test('an aggregate is listed when its reason changes, and leaves the list without one', () => {
  const kind = {
    ...tallyKind,
    listing: {
      reasonOf: ({ total }: Tally) => (total === 0 || total > 2 ? undefined : total),
      rowsOf: (id: string, { total }: Tally) => [{ id, total }],
    },
  };
  const totals = new Map([
    ['e-1', 0],
    ['e-2', 1],
    ['e-3', 2],
    ['e-4', 0],
    ['e-5', 3],
    ['e-6', 1],
  ]);
  const batch = createBatch('executor', { tally: kind }, { now: NOW }, ({ aggregate }) => {
    const total = totals.get(aggregate) ?? 0;
    return { kind: 'tally', version: total, state: { total, keys: [] } };
  });
  const add = (aggregate: string, ...steps: readonly number[]): void => {
    for (const by of steps)
      batch.apply(to(aggregate), decision({ events: [{ type: 'added', key: 'a', by }] }));
  };
  add('e-1', 1, 1);
  add('e-2', 1);
  add('e-3', 1);
  add('e-4', 1, 2);
  add('e-5', 1);
  add('e-6', 1, -1);
  expect(batch.write([])).toMatchObject({
    listed: [
      { id: 'e-1', total: 2 },
      { id: 'e-2', total: 2 },
    ],
    unlisted: ['e-3'],
  });
});

describe('what the bus would never take', () => {
  const tooLong = 'ü'.repeat(PAYLOAD_MAX_BYTES / 2 + 1);
  const message = (text: string) => ({
    subject: subjects.taskCommand('submit'),
    id: 'm-1',
    type: 'test',
    data: { text },
  });

  test.each([
    ['an event', decision<TallyEvent>({ events: [added('a'), added(tooLong)] })],
    ['a message', decision<TallyEvent>({ events: [added('a')], send: [message(tooLong)] })],
  ])('a decision with a message or event that is too large is refused as a whole: %s', (_, made) => {
    const batch = batchOf();
    expect(() => batch.apply(to('e-1'), made)).toThrow(
      expect.objectContaining({ code: 'CONTRACT_PAYLOAD_TOO_LARGE' }),
    );
    expect(isEmpty(batch.write([]))).toBe(true);
    expect(batch.states().size).toBe(0);
  });

  test('a message of just the maximum size is accepted', () => {
    const batch = batchOf();
    batch.apply(
      to('e-1'),
      decision({ events: [added('ü'.repeat(400_000))], send: [message('ü'.repeat(400_000))] }),
    );
    expect(batch.write([]).events).toHaveLength(1);
  });
});

describe('the timers of a batch', () => {
  test('the last decision sets or clears a timer', () => {
    const batch = batchOf();
    batch.apply(
      to('e-1'),
      decision({ timers: [{ set: 'x', dueAt: 1 }, { set: 'y', dueAt: 2, data: { n: 1 } }, { clear: 'z' }] }),
      TRACE,
    );
    batch.apply(to('e-1'), decision({ timers: [{ clear: 'x' }, { set: 'z', dueAt: 3 }] }));
    batch.apply(to('e-2'), decision({ timers: [{ set: 'x', dueAt: 4 }] }));
    const { timersSet, timersCleared } = batch.write([]);
    expect(timersSet).toEqual([
      { aggregate: 'e-1', name: 'y', dueAt: 2, data: { n: 1 }, trace: TRACE },
      { aggregate: 'e-1', name: 'z', dueAt: 3, data: null, trace: undefined },
      { aggregate: 'e-2', name: 'x', dueAt: 4, data: null, trace: undefined },
    ]);
    expect(timersCleared).toEqual([{ aggregate: 'e-1', name: 'x' }]);
  });
});

describe('the resend of a question to a person', () => {
  const question = (id: string) => ({
    subject: subjects.approvalCommand('request'),
    id,
    type: 'x',
    data: {},
  });
  const asking = (...ids: readonly string[]) =>
    decision<TallyEvent>({
      events: [added('a')],
      send: ids.map(question),
      timers: [questionTimer('reply', 0, NOW)],
    });
  const SOON = NOW + RESEND_TIMING.firstMs;
  const LATE = NOW + RESEND_TIMING.lastMs;

  test.each([
    ['is decided in the transaction', ['here-1', 'here-2'], LATE],
    ['goes over the bus', ['away-1'], SOON],
    ['goes over the bus beside another one', ['here-1', 'away-1'], SOON],
    ['was sent earlier', [], SOON],
  ])('a question that %s', (_, ids, dueAt) => {
    const batch = batchOf(1_000, {}, ({ headers }) => !String(headers).includes('away'));
    batch.apply(to('e-1'), asking(...ids));
    expect(batch.write([]).timersSet).toMatchObject([{ name: 'reply', dueAt }]);
  });

  test('a question that its receiver refuses goes over the bus, and is resent soon', () => {
    const taken: WireMessage[] = [];
    const batch = batchOf(1_000, {}, (message) => taken.push(message) > 0);
    batch.apply(to('e-1'), asking('here-1', 'here-2'));
    for (const message of taken.slice(0, 1)) batch.send(message);
    expect(batch.write([])).toMatchObject({ outbox: [taken[0]], timersSet: [{ dueAt: SOON }] });
  });

  test('another timer of the decision keeps its time', () => {
    const batch = batchOf(1_000, {}, () => true);
    batch.apply(
      to('e-1'),
      decision({ send: [question('here-1')], timers: [{ set: 'expiry', dueAt: NOW + 1 }] }),
    );
    expect(batch.write([]).timersSet).toMatchObject([{ name: 'expiry', dueAt: NOW + 1 }]);
  });
});

describe('a snapshot', () => {
  test.each([
    [0, 2, false],
    [0, 3, true],
    [2, 1, true],
    [3, 1, false],
    [3, 7, true],
  ])('a snapshot at version %i and %i more events is taken: %s', (version, events, taken) => {
    const batch = batchOf(3, { 'e-1': version });
    batch.apply(to('e-1'), decision({ events: Array.from({ length: events }, (_, i) => added(String(i))) }));
    expect(batch.write([]).snapshots.length > 0).toBe(taken);
  });

  test('a batch stores the snapshot of its last version', () => {
    const batch = batchOf(2);
    for (const key of ['a', 'b', 'c', 'd']) batch.apply(to('e-1'), decision({ events: [added(key)] }));
    expect(batch.write([]).snapshots).toEqual([
      { aggregate: 'e-1', version: 4, state: JSON.stringify({ total: 4, keys: ['a', 'b', 'c', 'd'] }) },
    ]);
  });
});

describe('the fact of an event', () => {
  const stored = {
    kind: 'tally',
    aggregate: 'e-1',
    version: 7,
    type: 'added',
    at: NOW,
    trace: TRACE,
    body: '{"type":"added"}',
  };

  test('an event is published as a CloudEvent in binary mode', () => {
    const { subject, headers, body } = eventMessage('executor', 'effect', stored);
    expect({ subject, body }).toEqual({ subject: 'hp.evt.effect.added.e-1', body: '{"type":"added"}' });
    expect(Object.fromEntries(headers)).toEqual({
      'Nats-Msg-Id': 'effect.e-1.7',
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': 'effect.e-1.7',
      'ce-source': '/holdpoint/executor',
      'ce-type': 'dev.holdpoint.effect.added.v1',
      'ce-subject': 'e-1',
      'ce-time': new Date(NOW).toISOString(),
      'ce-version': '7',
      traceparent: TRACE,
    });
  });

  test('an event always gives the same message', () => {
    expect(eventMessage('executor', 'effect', { ...stored })).toEqual(
      eventMessage('executor', 'effect', stored),
    );
  });

  test('events of two kinds with the same id give different messages', () => {
    const idOf = (publishedAs: 'effect' | 'task'): string | undefined =>
      eventMessage('executor', publishedAs, stored).headers[0]?.[1];
    expect(idOf('task')).not.toBe(idOf('effect'));
  });

  test('an id that is no subject token is refused', () => {
    expect(() => eventMessage('executor', 'effect', { ...stored, aggregate: 'e.1' })).toThrow(TypeError);
  });
});
