import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { describe, expect, test } from 'vitest';
import type { CommittedEvent } from './batch.ts';
import { CommitUnknown, Conflict } from './ports.ts';
import {
  add,
  engineInMemory,
  engineOver,
  headerOf,
  stillClock,
  unreliable,
} from '../../testing/engine-run.ts';
import { createMemoryStore } from '../memory/store.ts';
import { tallyKind, type Tally, type TallyEvent } from '../../testing/tally.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const ofTasks = {
  ...tallyKind,
  taskOf: (_id: string, { total }: Tally) => (total === 0 ? undefined : 't-1'),
};

describe('the trace of what a message leads to', () => {
  const traces = async (kind: typeof tallyKind, later: string | undefined) => {
    const { send, bus } = engineInMemory({ kind });
    await send('e-1', add('a'), TRACE);
    await send('e-1', add('b'), later);
    return bus.published.map((message) => headerOf(message, HEADERS.trace));
  };
  test.each([undefined, OTHER])('a decision about a task is in the trace of the task: %s', async (later) => {
    expect(await traces(ofTasks, later)).toEqual([TRACE, TRACE]);
  });
  test.each([undefined, OTHER])(
    'a decision without a task is in the trace of its message: %s',
    async (later) => {
      expect(await traces(tallyKind, later)).toEqual([TRACE, later]);
    },
  );
  test('a replica without a cache continues the trace of the task', async () => {
    const clock = stillClock();
    const store = createMemoryStore(clock.now);
    await engineOver(store, { kind: ofTasks }).send('e-1', add('a'), TRACE);
    const { send, bus } = engineOver(store, { kind: ofTasks });
    await send('e-1', add('b'));
    expect(bus.published.map((message) => headerOf(message, HEADERS.trace))).toEqual([TRACE]);
  });
  test('work gets the trace and the task of its decision', async () => {
    const performed: unknown[] = [];
    const { send } = engineInMemory({
      kind: ofTasks,
      perform: ({ work }, trace, task) => void performed.push({ work, trace, task }),
    });
    await send('e-1', { kind: 'busy', key: 'a' }, TRACE);
    expect(performed).toEqual([{ work: 'a', trace: TRACE, task: 't-1' }]);
  });
});

describe('committed events', () => {
  const word = ({ total }: Tally): string => (total < 2 ? 'few' : 'many');

  test('a committed event has the age of its aggregate and the status that it entered', async () => {
    const told: CommittedEvent<TallyEvent>[] = [];
    const { send, clock } = engineInMemory({
      kind: { ...tallyKind, statusOf: word },
      onCommitted: (each) => void told.push(...each),
    });
    await send('e-1', add('a'));
    clock.advance(500);
    await send('e-1', add('b'));
    await send('e-1', add('b'));
    clock.advance(500);
    await send('e-1', add('c'));
    expect(told.map(({ event, ageMs, entered }) => ({ event, ageMs, entered }))).toEqual([
      { event: { type: 'added', key: 'a', by: 1 }, ageMs: 0, entered: undefined },
      { event: { type: 'added', key: 'b', by: 1 }, ageMs: 500, entered: 'many' },
      { event: { type: 'added', key: 'c', by: 1 }, ageMs: 1_000, entered: undefined },
    ]);
  });

  test('only committed events are reported, and each once', async () => {
    const told: unknown[] = [];
    const again: string[] = [];
    const { store, commits } = unreliable(createMemoryStore(stillClock().now));
    const { send } = engineOver(store, {
      onCommitted: (each) => void told.push(...each),
      observer: {
        committed: () => undefined,
        retried: (reason) => void again.push(reason),
        batchFailed: () => undefined,
        timerFailed: () => undefined,
        publishUnconfirmed: () => undefined,
        callbackFailed: () => undefined,
      },
    });
    commits.push(new Conflict('taken'), { unknown: new CommitUnknown('no answer'), stands: false });
    await send('e-1', add('a'));
    expect(told).toHaveLength(1);
    expect(again).toEqual(['conflict', 'commit_unknown']);
  });

  test('the durations of messages and batches are reported', async () => {
    let now = 0;
    const said: string[] = [];
    const { send } = engineInMemory({
      clock: { now: () => (now += 10), after: () => () => undefined },
      observer: {
        committed: (messages, _write, ms) => void said.push(`${String(messages)} in ${String(ms)}`),
        handled: (kind, ms) => void said.push(`${kind} in ${String(ms)}`),
        batchFailed: () => undefined,
        timerFailed: () => undefined,
        publishUnconfirmed: () => undefined,
        callbackFailed: () => undefined,
      },
    });
    await send('e-1', add('a'));
    expect(said).toEqual(['1 in 10', 'add in 30']);
  });
});
