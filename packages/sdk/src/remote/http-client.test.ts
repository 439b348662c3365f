import { expect, test } from 'vitest';
import { createHttpClient } from './http-client.ts';

const claimant = (name: string) => ({
  claimant: name,
  x: 'A'.repeat(43),
  principal: 'operator',
  uses: ['cap.remote.refund'],
  isWaiting: true,
  since: 1,
  seenAt: 2,
  holds: [],
});

test('claimants of all pages are read', async () => {
  const asked: string[] = [];
  const client = createHttpClient({
    url: 'http://holdpoint.test',
    token: 'secret',
    fetch: (address) => {
      const { searchParams } = new URL(new Request(address).url);
      const after = searchParams.get('after') ?? '';
      asked.push(after);
      const page = after === '' ? { items: [claimant('one')], next: 'one' } : { items: [claimant('two')] };
      return Promise.resolve(Response.json(page));
    },
  });
  expect((await client.claimants()).map((view) => view.claimant)).toEqual(['one', 'two']);
  expect(asked).toEqual(['', 'one']);
});
