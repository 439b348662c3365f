import { expect, test } from 'vitest';
import { createMemoryStore } from '../memory/store.ts';
import type { Store } from './ports.ts';
import { add, engineOver, stillClock } from '../../testing/engine-run.ts';

test('cached states do not count on a new connection: the same version may be another history', async () => {
  const clock = stillClock();
  const [before, after] = [createMemoryStore(clock.now), createMemoryStore(clock.now)];
  let current: Store = before;
  let anew = true;
  const store: Store = {
    ...before,
    lock: async (aggregates, within) => {
      const transaction = await current.lock(aggregates, within);
      const answer = { ...transaction, cacheInvalid: anew };
      anew = false;
      return answer;
    },
    assume: (...asked) => (anew ? Promise.resolve(undefined) : current.assume(...asked)),
  };
  const { send } = engineOver(store);
  await send('e-1', add('lost'));
  await send('e-1', add('lost too'));

  // Set back, and written by another replica up to the very version that is remembered here.
  const other = engineOver(after);
  await other.send('e-1', add('one'));
  await other.send('e-1', add('two'));
  [current, anew] = [after, true];

  await send('e-1', add('lost'));
  expect(after.tables.events.get('e-1')).toMatchObject([{ key: 'one' }, { key: 'two' }, { key: 'lost' }]);
});
