import { expect, test } from 'vitest';
import { createMemoryStore } from '../memory/store.ts';
import { createEngine } from './engine.ts';
import { type TallyEvent, tallyKind, type TallyWork, type ToTally } from '../../testing/tally.ts';

test('a callback that throws does not keep the others from being called', async () => {
  const told: string[] = [];
  const failures: unknown[] = [];
  const engine = createEngine<ToTally, TallyEvent, TallyWork>({
    service: 'executor',
    kinds: { tally: tallyKind },
    store: createMemoryStore(() => 1),
    publisher: { publish: () => Promise.resolve(true) },
    perform: () => undefined,
    observer: {
      committed: () => undefined,
      batchFailed: () => undefined,
      timerFailed: () => undefined,
      publishUnconfirmed: () => undefined,
      callbackFailed: (error) => void failures.push(error),
    },
    batchMax: 10,
    cacheMax: 10,
  });
  const accept = (name: string, committed: () => void): void =>
    engine.accept(
      { kind: 'tally', aggregate: name, message: { kind: 'add', key: name } },
      { committed, failed: () => undefined, unavailable: () => void told.push(`${name} unavailable`) },
    );
  accept('one', () => {
    throw new Error('connection closed');
  });
  accept('two', () => void told.push('two'));
  await engine.idle();
  expect(told).toEqual(['two']);
  expect(failures).toHaveLength(1);
});
