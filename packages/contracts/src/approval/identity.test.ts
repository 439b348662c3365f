import { expect, test } from 'vitest';
import { HoldpointError } from '../values/errors.ts';
import { createIdentitySource, IDENTITY_MS, takesIdentity } from './identity.ts';

const sourceAt = (fails: readonly number[] = []) => {
  const world = { now: 0, fetched: 0 };
  const source = createIdentitySource(
    () => {
      world.fetched += 1;
      return fails.includes(world.fetched)
        ? Promise.reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'approvals does not answer'))
        : Promise.resolve({ assertion: `a-${String(world.fetched)}` });
    },
    () => world.now,
  );
  return { world, send: () => source.withIdentity((assertion) => Promise.resolve(assertion)), source };
};

test('an assertion is fetched once, also for requests at the same time', async () => {
  const { world, send } = sourceAt();
  expect(await Promise.all([send(), send(), send()])).toEqual(['a-1', 'a-1', 'a-1']);
  world.now = IDENTITY_MS - 60_001;
  expect(await send()).toBe('a-1');
  expect(world.fetched).toBe(1);
});

test('an assertion is fetched again a minute before its end', async () => {
  const { world, send } = sourceAt();
  await send();
  world.now = IDENTITY_MS - 60_000;
  expect(await send()).toBe('a-2');
});

test('a failed fetch is not kept', async () => {
  const { send } = sourceAt([1]);
  await expect(send()).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  expect(await send()).toBe('a-2');
});

test.each(['IDENTITY_INVALID', 'IDENTITY_EXPIRED'] as const)(
  'a request refused as %s is sent once more',
  async (code) => {
    const { source } = sourceAt();
    const sent: string[] = [];
    const refuse = (assertion: string): Promise<string> => {
      sent.push(assertion);
      return assertion === 'a-1'
        ? Promise.reject(new HoldpointError(code, 'fetch a new one'))
        : Promise.resolve('done');
    };
    expect(await source.withIdentity(refuse)).toBe('done');
    expect(sent).toEqual(['a-1', 'a-2']);
  },
);

test('any other refusal is passed on', async () => {
  const { source, world } = sourceAt();
  const refused = source.withIdentity(() => Promise.reject(new HoldpointError('IDENTITY_SCOPE', 'no')));
  await expect(refused).rejects.toMatchObject({ code: 'IDENTITY_SCOPE' });
  expect(world.fetched).toBe(1);
});

test('only commands to the orchestrator carry an assertion', () => {
  expect(takesIdentity('orchestrator', 'submit')).toBe(true);
  expect(takesIdentity('recovery', 'circuit')).toBe(true);
  expect(takesIdentity('executor', 'forget')).toBe(true);
  expect(takesIdentity('approvals', 'dead_letter_resolve')).toBe(true);
  expect(takesIdentity('recovery', 'circuits')).toBe(false);
  expect(takesIdentity('orchestrator', 'get')).toBe(false);
  expect(takesIdentity('orchestrator', 'toString')).toBe(false);
  expect(takesIdentity('recovery', 'submit')).toBe(false);
});
