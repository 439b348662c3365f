import { expect, test } from 'vitest';
import { createMemoryStore } from '../memory/store.ts';
import { createEngine } from './engine.ts';
import {
  type Tally,
  type TallyEvent,
  tallyKind,
  type TallyMessage,
  type TallyWork,
} from '../../testing/tally.ts';

test('who cannot be told of its message keeps nobody else from being told', async () => {
  const told: string[] = [];
  const failures: unknown[] = [];
  const engine = createEngine<Tally, TallyMessage, TallyEvent, TallyWork>({
    kind: tallyKind,
    store: createMemoryStore(() => 1),
    publisher: { publish: () => Promise.resolve(true) },
    perform: () => undefined,
    observer: {
      committed: () => undefined,
      batchFailed: () => undefined,
      timerFailed: () => undefined,
      publishUnconfirmed: () => undefined,
      tellingFailed: (error) => void failures.push(error),
    },
    batchMax: 10,
    cacheMax: 10,
  });
  const item = (name: string, settled: () => void) => ({
    aggregate: name,
    message: { kind: 'add', key: name } as const,
    settled,
    failed: () => undefined,
    unavailable: () => void told.push(`${name} unavailable`),
  });
  engine.accept(
    item('one', () => {
      throw new Error('connection closed');
    }),
  );
  engine.accept(item('two', () => void told.push('two')));
  await engine.idle();
  expect(told).toEqual(['two']);
  expect(failures).toHaveLength(1);
});
