import { sha256Of } from '@holdpoint/contracts/values/json';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { describe, expect, test } from 'vitest';
import type { Callbacks } from '../engine/engine.ts';
import type { Inbound } from '../engine/intake.ts';
import type { Addressed } from '../engine/kinds.ts';
import { createMemoryStore, memoryDeadLetters } from '../memory/store.ts';
import type { KeptDeadLetter } from '../engine/ports.ts';
import type { SealFinding } from '../engine/seals.ts';
import { createDeadLetterActions } from './dead-letter-actions.ts';

const NOW = 1_795_000_000_000;
const BODY = '{"id":"t-1"}';

const letterOf = (body = BODY, more: Partial<KeptDeadLetter['letter']> = {}): KeptDeadLetter => ({
  id: 'dlq.orchestrator.1',
  letter: {
    subject: 'hp.cmd.task.cancel',
    reason: { code: 'RUNTIME_POISON', message: 'it could not be handled' },
    headers: { 'Ce-Id': 'first', 'holdpoint-identity': 'ada' },
    bodyBytes: body.length,
    bodySha256: sha256Of(Buffer.from(body)),
    deliveries: 5,
    at: NOW - 1_000,
    ...more,
  },
  body: Buffer.from(body),
});
const ID = 'orchestrator-1';

type Message = {
  readonly subject: string;
  readonly payload: unknown;
  readonly identity: string;
  readonly proven: boolean;
};
type To = Addressed<'task', Message>;
type Fate = (callbacks: Callbacks) => void;

/** One dead letter of the orchestrator, and what its message comes to when it is handled again. */
const given = (
  letter: KeptDeadLetter,
  fate: Fate = (item) => item.committed(undefined),
  finding: SealFinding = { key: 'o-1' },
) => {
  const consumer = consumers.find(({ name }) => name === 'orchestrator');
  if (consumer === undefined) throw new Error('no consumer');
  const inbound: Inbound<To> = {
    consumer,
    decode: (subject, payload, { identity, arrived }) => ({
      kind: 'task',
      aggregate: 't-1',
      message: { subject, payload, identity, proven: arrived !== undefined },
    }),
  };
  const handled: Message[] = [];
  const { tables } = createMemoryStore(() => NOW);
  tables.deadLetters.push(letter);
  const another = () =>
    createDeadLetterActions<To>({
      service: 'orchestrator',
      inbound: [inbound],
      now: () => NOW,
      letters: memoryDeadLetters(tables),
      engine: {
        accept: ({ message }, callbacks) => {
          handled.push(message);
          fate(callbacks);
        },
      },
      checkSeal: () => finding,
    });
  return { settle: another(), another, handled, stored: () => tables.deadLetters[0]?.resolution };
};

describe('a dead letter that is tried again', () => {
  test('a retried dead letter is handled under its first id without proof of its sender, and its resolution is stored', async () => {
    const { settle, handled, stored } = given(letterOf());
    const settled = await settle({ id: ID, action: 'retry', by: 'ada' });
    expect(settled).toEqual({ id: ID, action: 'retry', by: 'ada', at: NOW });
    expect(handled).toEqual([
      {
        subject: 'hp.cmd.task.cancel',
        payload: { id: 't-1' },
        identity: 'first',
        proven: false,
      },
    ]);
    expect(stored()).toEqual(settled);
  });

  test('a resolved dead letter is not handled again', async () => {
    const { settle, handled, stored } = given(letterOf());
    const first = await settle({ id: ID, action: 'drop', by: 'ada' });
    expect(await settle({ id: ID, action: 'retry', by: 'eve' })).toEqual(first);
    expect([handled, stored()]).toEqual([[], first]);
  });

  test('concurrent requests handle a dead letter once, and all get the same resolution', async () => {
    const { settle, handled, stored } = given(letterOf());
    const asked = [
      settle({ id: ID, action: 'retry', by: 'ada' }),
      settle({ id: ID, action: 'drop', by: 'eve' }),
      settle({ id: ID, action: 'retry', by: 'bob' }),
    ];
    expect(new Set((await Promise.all(asked)).map(({ action, by }) => `${action} by ${by}`))).toEqual(
      new Set(['retry by ada']),
    );
    expect([handled.length, stored()]).toMatchObject([1, { by: 'ada' }]);
  });

  test('two processes that resolve a dead letter at the same time give one resolution', async () => {
    const { another, stored } = given(letterOf());
    const answers = await Promise.all([
      another()({ id: ID, action: 'retry', by: 'ada' }),
      another()({ id: ID, action: 'drop', by: 'eve' }),
    ]);
    expect(answers).toEqual([stored(), stored()]);
  });

  test('a failed retry may be repeated', async () => {
    let away = true;
    const { settle, stored } = given(letterOf(), (item) => {
      if (away) item.unavailable();
      else item.committed(undefined);
      away = false;
    });
    const [first, second] = await Promise.allSettled([
      settle({ id: ID, action: 'retry', by: 'ada' }),
      settle({ id: ID, action: 'retry', by: 'eve' }),
    ]);
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
    expect(stored()).toMatchObject({ by: 'eve' });
  });

  test.each<readonly [string, Fate, string]>([
    [
      'the decider refuses it',
      (item) => item.committed({ error: { code: 'ORCHESTRATOR_UNKNOWN_TASK', message: 'none' } }),
      'ORCHESTRATOR_UNKNOWN_TASK',
    ],
    [
      'it is poison still',
      (item) => item.failed({ code: 'RUNTIME_POISON', message: 'again' }, new Error('again')),
      'RUNTIME_POISON',
    ],
    ['the store is away', (item) => item.unavailable(), 'RUNTIME_UNAVAILABLE'],
  ])('a dead letter stays unresolved when %s', async (_why, fate, code) => {
    const { settle, stored } = given(letterOf(), fate);
    await expect(settle({ id: ID, action: 'retry', by: 'ada' })).rejects.toMatchObject({ code });
    expect(stored()).toBeUndefined();
  });

  test.each([
    ['of which a part is kept', letterOf(BODY, { bodyBytes: 5_000 }), 'RUNTIME_DEAD_LETTER_TRUNCATED'],
    [
      'whose body was changed',
      letterOf(BODY, { bodySha256: '0'.repeat(64) }),
      'RUNTIME_DEAD_LETTER_TRUNCATED',
    ],
    ['that is no JSON', letterOf('{'), 'CONTRACT_NOT_JSON'],
  ])('a dead letter %s is not handled', async (_what, letter, code) => {
    const { settle, handled, stored } = given(letter);
    await expect(settle({ id: ID, action: 'retry', by: 'ada' })).rejects.toMatchObject({ code });
    expect([handled, stored()]).toEqual([[], undefined]);
  });

  test('a dead letter that no service has sealed is not handled', async () => {
    const error = { code: 'SEAL_INVALID', message: 'The seal does not fit' };
    const { settle, handled, stored } = given(letterOf(), undefined, { error });
    await expect(settle({ id: ID, action: 'retry', by: 'ada' })).rejects.toMatchObject({
      code: 'SEAL_INVALID',
    });
    expect([handled, stored()]).toEqual([[], undefined]);
  });

  test.each(['orchestrator-8', 'approvals-1', 'nothing'])(
    'the unknown dead letter %s is refused',
    async (id) => {
      const { settle } = given(letterOf());
      await expect(settle({ id, action: 'drop', by: 'ada' })).rejects.toMatchObject({
        code: 'RUNTIME_DEAD_LETTER_UNKNOWN',
      });
    },
  );
});
