import type { DeadLetter, DeadLetterResolved } from '@holdpoint/contracts/bus/dead-letter';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { describe, expect, test } from 'vitest';
import type { Callbacks } from '../engine/engine.ts';
import type { Inbound } from '../engine/intake.ts';
import type { Addressed } from '../engine/kinds.ts';
import { createDeadLetterActions } from './dead-letter-actions.ts';

const NOW = 1_795_000_000_000;
const BODY = '{"id":"t-1"}';

const letterOf = (more: Partial<DeadLetter> = {}): DeadLetter => ({
  subject: 'hp.cmd.task.cancel',
  reason: { code: 'RUNTIME_POISON', message: 'it could not be handled' },
  headers: { 'Ce-Id': 'first' },
  body: BODY,
  bodyBytes: BODY.length,
  bodySha256: sha256Of(Buffer.from(BODY)),
  deliveries: 5,
  at: NOW - 1_000,
  ...more,
});

type Message = { readonly subject: string; readonly payload: unknown; readonly identity: string };
type To = Addressed<'task', Message>;
type Fate = (callbacks: Callbacks) => void;

/** One dead letter of the orchestrator, and what its message comes to when it is handled again. */
const given = (
  letter: DeadLetter,
  fate: Fate = (item) => item.committed(undefined),
  inStream: (stated: readonly DeadLetterResolved[]) => readonly DeadLetterResolved[] = (stated) => stated,
) => {
  const consumer = consumers.find(({ name }) => name === 'orchestrator');
  if (consumer === undefined) throw new Error('no consumer');
  const inbound: Inbound<To> = {
    consumer,
    decode: (subject, payload, { identity }) => ({
      kind: 'task',
      aggregate: 't-1',
      message: { subject, payload, identity },
    }),
  };
  const handled: Message[] = [];
  const stated: DeadLetterResolved[] = [];
  const settle = createDeadLetterActions<To>({
    service: 'orchestrator',
    inbound: [inbound],
    now: () => NOW,
    letters: {
      find: (sequence) =>
        Promise.resolve(sequence === 7 ? { sequence, service: 'orchestrator', letter } : undefined),
      settled: () => Promise.resolve(new Map(inStream(stated).map((each) => [each.sequence, each]))),
    },
    engine: {
      accept: ({ message }, callbacks) => {
        handled.push(message);
        fate(callbacks);
      },
      post: ({ subject, body }, stored) => {
        expect(subject).toBe('hp.dlq.orchestrator.resolved');
        stated.push(JSON.parse(body) as DeadLetterResolved);
        stored();
      },
    },
  });
  return { settle, handled, stated };
};

describe('a dead letter that is tried again', () => {
  test('a retried dead letter is handled unchanged under its first id, and its resolution is published', async () => {
    const { settle, handled, stated } = given(letterOf());
    const settled = await settle({ sequence: 7, action: 'retry', by: 'ada' });
    expect(settled).toEqual({ service: 'orchestrator', sequence: 7, action: 'retry', by: 'ada', at: NOW });
    expect(handled).toEqual([{ subject: 'hp.cmd.task.cancel', payload: { id: 't-1' }, identity: 'first' }]);
    expect(stated).toEqual([settled]);
  });

  test('a resolved dead letter is not handled again', async () => {
    const { settle, handled, stated } = given(letterOf());
    const first = await settle({ sequence: 7, action: 'drop', by: 'ada' });
    expect(await settle({ sequence: 7, action: 'retry', by: 'eve' })).toEqual(first);
    expect([handled.length, stated.length]).toEqual([0, 1]);
  });

  test('concurrent requests handle a dead letter once, and all get the same resolution', async () => {
    const { settle, handled, stated } = given(letterOf());
    const asked = [
      settle({ sequence: 7, action: 'retry', by: 'ada' }),
      settle({ sequence: 7, action: 'drop', by: 'eve' }),
      settle({ sequence: 7, action: 'retry', by: 'bob' }),
    ];
    expect(new Set((await Promise.all(asked)).map(({ action, by }) => `${action} by ${by}`))).toEqual(
      new Set(['retry by ada']),
    );
    expect([handled.length, stated.length]).toEqual([1, 1]);
  });

  test('a resolution counts before it has reached the stream', async () => {
    const { settle, handled, stated } = given(letterOf(), undefined, () => []);
    const first = await settle({ sequence: 7, action: 'drop', by: 'ada' });
    expect(await settle({ sequence: 7, action: 'retry', by: 'eve' })).toEqual(first);
    expect([handled.length, stated.length]).toEqual([0, 1]);
  });

  test('a failed retry may be repeated', async () => {
    let away = true;
    const { settle, stated } = given(letterOf(), (item) => {
      if (away) item.unavailable();
      else item.committed(undefined);
      away = false;
    });
    const [first, second] = await Promise.allSettled([
      settle({ sequence: 7, action: 'retry', by: 'ada' }),
      settle({ sequence: 7, action: 'retry', by: 'eve' }),
    ]);
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
    expect(stated).toMatchObject([{ by: 'eve' }]);
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
    const { settle, stated } = given(letterOf(), fate);
    await expect(settle({ sequence: 7, action: 'retry' })).rejects.toMatchObject({ code });
    expect(stated).toEqual([]);
  });

  test.each([
    ['of which a part is kept', letterOf({ bodyBytes: 5_000 }), 'RUNTIME_LETTER_CUT'],
    ['whose body was changed', letterOf({ bodySha256: '0'.repeat(64) }), 'RUNTIME_LETTER_CUT'],
    [
      'that is no JSON',
      letterOf({ body: '{', bodyBytes: 1, bodySha256: sha256Of(Buffer.from('{')) }),
      'CONTRACT_NOT_JSON',
    ],
  ])('is not handled: %s', async (_what, letter, code) => {
    const { settle, handled, stated } = given(letter);
    await expect(settle({ sequence: 7, action: 'retry' })).rejects.toMatchObject({ code });
    expect([handled, stated]).toEqual([[], []]);
  });

  test('an unknown dead letter is refused', async () => {
    const { settle } = given(letterOf());
    await expect(settle({ sequence: 8, action: 'drop' })).rejects.toMatchObject({
      code: 'RUNTIME_UNKNOWN_LETTER',
    });
  });
});
