import { subjects } from '@holdpoint/contracts/bus/subjects';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import { type Decider, decision, refused, type TimerFired } from '../decider.ts';
import { snapshotEvery } from '../engine/core.ts';
import type { Inbound } from '../engine/intake.ts';
import type { Addressed, AggregateKind } from '../engine/kinds.ts';
import { type BatchWrite, CommitUnknown, Conflict, type Store } from '../engine/ports.ts';
import { letter } from '../../testing/engine-run.ts';
import { createMemoryBus } from '../memory/bus.ts';
import { createMemoryStore } from '../memory/store.ts';
import { createHost } from './host.ts';

/** Two services that pass a word on: what is asked of one is an event of both. */
type Word = {
  readonly kind: 'say';
  readonly word: string;
  /** How often the word goes back and forth. */
  readonly times?: number;
  /** What to say to the other service. */
  readonly ask?: string;
};
type Said = { readonly type: 'resolved'; readonly word: string; readonly id: string; readonly at: number };
type To = Addressed<'task' | 'approval', Word>;

const saying = (own: 'task' | 'approval'): Decider<readonly string[], Word | TimerFired, Said> => ({
  initial: [],
  evolve: (words, { word }) => [...words, word],
  decide: (words, message, { now }) => {
    if (message.kind === 'timer') return decision<Said>({});
    const { word, times = 0, ask = `${word}-${String(times)}` } = message;
    if (word === 'refused') return refused(errorBody('ERR_FORBIDDEN', 'not this word'));
    if (word === 'poison') throw new TypeError('cannot be');
    const subject = own === 'task' ? subjects.approvalCommand('request') : subjects.taskCommand('recover');
    const isNew = !words.includes(word);
    return decision<Said>({
      events: isNew ? [{ type: 'resolved', word, id: word, at: now }] : [],
      send:
        isNew && times > 0
          ? [{ subject, id: `${own}.${word}`, type: 'x', data: { word: ask, times: times - 1 } }]
          : [],
      answer: { ok: {} },
    });
  },
});

const kindOf = (own: 'task' | 'approval'): AggregateKind<readonly string[], Word, Said> => ({
  publishedAs: own,
  decider: saying(own),
  summarise: () => ({ status: 'open', view: null }),
  snapshotDue: snapshotEvery(1_000),
});

const inboundOf = (
  service: 'orchestrator' | 'approvals',
  kind: 'task' | 'approval',
): readonly Inbound<To>[] =>
  consumers
    .filter(({ name }) => name === service)
    .map((consumer) => ({
      consumer,
      decode: (_subject, payload) => {
        const { word, times } = payload as Word;
        return {
          kind,
          aggregate: 'a-1',
          message: { kind: 'say', word, ...(times !== undefined && { times }) },
        };
      },
    }));

/** Two services in one process, over stores that may refuse a commit. */
const twoServices = ({ owned = true, overlapMax = 1 } = {}) => {
  const bus = createMemoryBus();
  const commits: string[] = [];
  const fates: Error[] = [];
  const retries: string[] = [];
  const answers = { held: Promise.resolve() };
  let now = 1_000;
  const storeOf = (name: string): Store & Pick<ReturnType<typeof createMemoryStore>, 'tables'> => {
    const store = createMemoryStore(() => (now += 1));
    return {
      ...store,
      lock: async (ids, within) => {
        const transaction = await store.lock(ids, within);
        const commit = (write: BatchWrite) => inner.commit(write);
        const inner = { ...transaction };
        // The first part commits for all.
        return Object.assign(transaction, {
          commit: async (write: BatchWrite) => {
            commits.push(name);
            await answers.held;
            const fate = within === undefined ? fates.shift() : undefined;
            if (fate !== undefined) {
              await transaction.rollback();
              throw fate;
            }
            return commit(write);
          },
        });
      },
    };
  };
  const stores = { orchestrator: storeOf('orchestrator'), approvals: storeOf('approvals') };
  const host = createHost({ batchMax: 100, overlapMax });
  const add = (service: 'orchestrator' | 'approvals', kind: 'task' | 'approval', isOwner = () => true) => {
    const engine = host.add<To, Said, never>({
      service,
      kinds: { [kind]: kindOf(kind) },
      store: stores[service],
      publisher: bus.publisher,
      perform: () => undefined,
      observer: {
        committed: () => undefined,
        batchFailed: () => undefined,
        timerFailed: () => undefined,
        publishUnconfirmed: () => undefined,
        retried: (why) => void retries.push(why),
        callbackFailed: (error) => {
          throw error;
        },
      },
      cacheMax: 10,
      isOwner,
    });
    engine.receive(inboundOf(service, kind));
    return engine;
  };
  const orchestrator = add('orchestrator', 'task');
  const approvals = add('approvals', 'approval', () => owned);
  const say = (word: string, times = 0, ask?: string): Promise<string> =>
    new Promise((resolve) =>
      orchestrator.accept(
        {
          kind: 'task',
          aggregate: 'a-1',
          message: { kind: 'say', word, times, ...(ask !== undefined && { ask }) },
        },
        {
          committed: (answer) => resolve(answer !== undefined && 'ok' in answer ? 'ok' : 'refused'),
          failed: ({ code }) => resolve(code),
          unavailable: () => resolve('unavailable'),
        },
      ),
    );
  const words = (service: 'orchestrator' | 'approvals'): readonly string[] =>
    (stores[service].tables.events.get('a-1') ?? []).map((event) => (event as Said).word);
  const times = (service: 'orchestrator' | 'approvals'): readonly number[] =>
    (stores[service].tables.events.get('a-1') ?? []).map((event) => (event as Said).at);
  const commands = (): readonly string[] =>
    bus.published.map(({ subject }) => subject).filter((subject) => subject.startsWith('hp.cmd.'));
  return { host, orchestrator, approvals, say, words, times, commands, commits, fates, retries, answers };
};

describe('services in one process', () => {
  test('what one service asks of another is decided in the same transaction, and not sent', async () => {
    const { host, say, words, commands, commits } = twoServices();
    expect(await say('hello', 1)).toBe('ok');
    await host.idle();
    expect(words('orchestrator')).toEqual(['hello']);
    expect(words('approvals')).toEqual(['hello-1']);
    expect(commands()).toEqual([]);
    expect(commits).toEqual(['approvals', 'orchestrator']);
  });

  test('messages go back and forth in one transaction, up to a limit, and then over the bus', async () => {
    const { host, say, words, commands, commits } = twoServices();
    await say('w', 20);
    await host.idle();
    expect(commits).toHaveLength(2);
    expect(words('orchestrator')).toHaveLength(5);
    expect(words('approvals')).toHaveLength(4);
    expect(commands()).toHaveLength(1);
  });

  test('no event of a transaction is earlier than an event that led to it', async () => {
    const { host, say, times } = twoServices();
    await say('w', 3);
    await host.idle();
    const [asked, answered] = [times('orchestrator'), times('approvals')];
    expect([asked.length, answered.length]).toEqual([2, 2]);
    const inOrder = asked.flatMap((at, i) => [at, answered[i] ?? 0]);
    expect(inOrder.toSorted((one, other) => one - other)).toEqual(inOrder);
  });

  test.each(['refused', 'poison'])(
    'a message that its receiver answers with %s goes over the bus',
    async (ask) => {
      const { host, approvals, say, words, commands } = twoServices();
      expect(await say('hello', 1, ask)).toBe('ok');
      await host.idle();
      expect(words('orchestrator')).toEqual(['hello']);
      expect(words('approvals')).toEqual([]);
      expect(commands()).toEqual(['hp.cmd.approval.request']);
      expect(approvals.hasDecided('task.hello')).toBe(false);
    },
  );

  test('a message for a service that another process owns goes over the bus', async () => {
    const { host, say, words, commands } = twoServices({ owned: false });
    await say('hello', 1);
    await host.idle();
    expect(words('approvals')).toEqual([]);
    expect(commands()).toEqual(['hp.cmd.approval.request']);
  });

  test('messages and dead letters of a service that another process owns hold up no other service', async () => {
    const { host, approvals, say, words, commits } = twoServices({ owned: false });
    const ends: string[] = [];
    approvals.keepDeadLetter(letter(), () => ends.push('stored'));
    approvals.accept(
      { kind: 'approval', aggregate: 'a-1', message: { kind: 'say', word: 'late' } },
      {
        committed: () => ends.push('committed'),
        failed: () => ends.push('failed'),
        unavailable: () => ends.push('unavailable'),
      },
    );
    expect(await say('hello')).toBe('ok');
    await host.idle();
    expect(words('orchestrator')).toEqual(['hello']);
    expect({ ends, commits }).toEqual({ ends: ['unavailable'], commits: ['orchestrator'] });
  });

  test.each([new Conflict('lost a race'), new CommitUnknown('no answer')])(
    'what one service asks of another is decided again when the commit failed',
    async (fate) => {
      const { host, approvals, say, words, fates } = twoServices();
      fates.push(fate);
      expect(await say('hello', 1)).toBe('ok');
      await host.idle();
      expect(words('orchestrator')).toEqual(['hello']);
      expect(words('approvals')).toEqual(['hello-1']);
      expect(approvals.hasDecided('task.hello')).toBe(true);
    },
  );

  test('a commit that fails for good leaves nothing, and remembers nothing', async () => {
    const { host, approvals, say, words, fates } = twoServices();
    fates.push(...Array.from({ length: 5 }, () => new Conflict('lost a race')));
    expect(await say('hello', 1)).toBe('unavailable');
    await host.idle();
    expect([...words('orchestrator'), ...words('approvals')]).toEqual([]);
    expect(approvals.hasDecided('task.hello')).toBe(false);
  });

  test('a message for an aggregate of a transaction under way goes over the bus', async () => {
    const { host, approvals, say, words, commands, retries, answers } = twoServices({ overlapMax: 2 });
    const { promise, resolve } = Promise.withResolvers<void>();
    answers.held = promise;
    const ends: string[] = [];
    approvals.accept(
      { kind: 'approval', aggregate: 'a-1', message: { kind: 'say', word: 'earlier' } },
      {
        committed: () => ends.push('committed'),
        failed: () => ends.push('failed'),
        unavailable: () => ends.push('unavailable'),
      },
    );
    await new Promise((next) => setImmediate(next));
    const said = say('hello', 1);
    await new Promise((next) => setImmediate(next));
    resolve();
    expect(await said).toBe('ok');
    await host.idle();
    expect({ ends, retries }).toEqual({ ends: ['committed'], retries: [] });
    expect(words('approvals')).toEqual(['earlier']);
    expect(commands()).toEqual(['hp.cmd.approval.request']);
  });
});
