import type { Bug } from './bug.ts';
import {
  batch,
  cache,
  engine,
  engineFailures,
  engineOutbox,
  engineTimers,
  enginePostgres,
  SEEDS,
  uses,
} from './tests.ts';

const ENGINE = 'packages/runtime/src/engine/engine.ts';

export const ENGINE_BUGS: readonly Bug[] = [
  {
    name: 'published before the commit',
    file: ENGINE,
    find: `      pass('before_commit');`,
    replace: `      pass('before_commit');
      void publisher.publish([...write.events.map((event) => factOf(kind, event)), ...write.outbox]);`,
    caughtBy: [SEEDS, engine('nobody is answered, and no work is begun')],
  },
  {
    name: 'answered before the commit',
    file: ENGINE,
    find: `        after.push(() => item.settled(answer));`,
    replace: `        item.settled(answer);`,
    caughtBy: [SEEDS, engine('nobody is answered, and no work is begun')],
  },
  {
    name: 'the act begins before its intent is committed',
    file: ENGINE,
    find: `after.push(() => options.perform(work, trace, task));`,
    replace: `options.perform(work, trace, task);`,
    caughtBy: [SEEDS, engine('nobody is answered, and no work is begun')],
  },
  {
    name: 'a timer is deleted before its message is handled',
    file: ENGINE,
    find: `    const { transaction, due } = await store.lockDue(DUE_TIMERS_MAX);
`,
    replace: `    const { transaction: early, due } = await store.lockDue(DUE_TIMERS_MAX);
    const nothing = { events: [], outbox: [], outboxConfirmed: [], snapshots: [], heads: [], timersSet: [] };
    await early.commit({ ...nothing, timersCleared: due });
    const transaction = await store.lock([...new Set(due.map(({ aggregate }) => aggregate))].sort());
`,
    caughtBy: [
      SEEDS,
      engineTimers('a timer is removed by the very commit that stores what it led to, and by no other'),
    ],
  },
  {
    name: 'a timer that cannot be decided is forgotten',
    file: ENGINE,
    find: `        batch.setTimer(aggregate, { set: name, dueAt: transaction.now + TIMER_RETRY_MS, data }, trace);
`,
    replace: '',
    caughtBy: [
      engineTimers('are not held up by one that cannot be decided: it is set again for later'),
      enginePostgres('whose timer cannot be decided keep it for later'),
    ],
  },
  {
    name: 'an outbox row is deleted before its publish is confirmed',
    file: ENGINE,
    find: `      if (all) confirmed.push(rowId);
`,
    replace: `      confirmed.push(rowId);
      if (all) return;
`,
    caughtBy: [
      SEEDS,
      engineOutbox('stays, is counted, and is published again under the same ids'),
      enginePostgres('is removed neither with a later batch, nor by a sweep, nor at a stop'),
    ],
  },
  {
    name: 'the clock of the process decides, not that of the database',
    file: ENGINE,
    find: `createBatch(kind, transaction.now, await loader(transaction))`,
    replace: `createBatch(kind, Date.now(), await loader(transaction))`,
    caughtBy: [SEEDS, uses('clock, chance, environment, acknowledging and publishing have their places')],
  },
  {
    name: 'what a decider throws on is caught, and acknowledged',
    file: ENGINE,
    find: `        after.push(() => item.failed(toErrorBody(cause), cause));`,
    replace: `        after.push(() => item.settled(undefined));`,
    caughtBy: [
      engine('a message that cannot be handled holds up no other'),
      enginePostgres('of a message that cannot be decided fails alone as well'),
    ],
  },
  {
    name: 'one message that the store will never take fails its whole batch',
    file: ENGINE,
    find: `        if (error instanceof DataRefused) return await isolate(items, error);
`,
    replace: '',
    caughtBy: [
      engineFailures('is found, and the others of its batch go through'),
      enginePostgres('fails alone: the rest of its batch goes through'),
    ],
  },
  {
    name: 'a dead letter is forgotten when its commit fails',
    file: ENGINE,
    find: `      posts.unshift(...posted);
`,
    replace: '',
    caughtBy: [
      engineFailures('a summary that cannot be made loses no message on its way to the outbox'),
      engineFailures('takes no message along that was only on its way to the outbox'),
    ],
  },
  {
    name: 'a state in memory is used though its version differs',
    file: 'packages/runtime/src/engine/cache.ts',
    find: `      return entry?.version === version ? entry : undefined;`,
    replace: `      return entry;`,
    caughtBy: [SEEDS, cache('a state is found under the version that it has, and under no other')],
  },
  {
    name: 'what is remembered counts on a new connection as well',
    file: ENGINE,
    find: `    if (transaction.anew === true) cache.clear();
`,
    replace: '',
    caughtBy: [
      {
        file: 'packages/runtime/src/engine/engine-restore.test.ts',
        title:
          'what is remembered of states does not count on a new connection: the same version may be another history',
      },
    ],
  },
  {
    name: 'a snapshot has the version before its events',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `snapshots.set(aggregate, { aggregate, version, state: JSON.stringify(state) });`,
    replace: `snapshots.set(aggregate, { aggregate, version: before.version, state: JSON.stringify(state) });`,
    caughtBy: [SEEDS, batch('is the last of its batch, and of the version that the batch ends with')],
  },
  {
    name: 'a snapshot has the state before its events',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `snapshots.set(aggregate, { aggregate, version, state: JSON.stringify(state) });`,
    replace: `snapshots.set(aggregate, { aggregate, version, state: JSON.stringify(before.state) });`,
    caughtBy: [SEEDS, batch('is the last of its batch, and of the version that the batch ends with')],
  },
];
