import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Capability, CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';
import { createHandlerRegistry } from '../../ports/handler-registry.ts';
import type { EffectMessage } from '../../effect/decide.ts';
import { orderFor } from '../../../testing/orders.ts';
import { createSlots } from '../slots/slots.ts';
import { createRunner, type ToEffect } from '../runner/runner.ts';
import { createSecrets } from './secrets.ts';

const SECRET = 'open-sesame-42';
const API = 'https://api.example';
const order = orderFor();

type Carried = Pick<Capability, 'run' | 'probe'>;

/** Everything that leaves a runner which carries out one effect, or asks about it. */
const allOf = async (
  carried: Carried,
  work: Parameters<ReturnType<typeof createRunner>['perform']>[0],
): Promise<string> => {
  const left: unknown[] = [];
  const note = (...said: readonly unknown[]): void => void left.push(said);
  const log = { error: note, warn: note, info: note, debug: note } as unknown as Logger;
  const capability = { uses: 'cap.file.append', input: z.unknown(), ...carried };
  const runner = createRunner({
    capabilities: createHandlerRegistry([capability]),
    slots: createSlots({ worker: 'worker-1' }, 1),
    clock: systemClock,
    journalStart: () => Promise.resolve(),
    secretsOf: createSecrets(new Map([['TOKEN', { read: () => SECRET, uses: new Set([API]) }]])),
    linesOf: () => ({ print: note, end: () => Promise.resolve(undefined) }),
    log,
  });
  const messages: EffectMessage[] = [];
  runner.perform(work, ({ message }: Routed<ToEffect>) => void messages.push(message));
  await vi.waitFor(() => expect(messages).toHaveLength(1));
  const all = JSON.stringify([...left, ...messages]);
  expect(all).toContain('[hidden]');
  return all;
};

const start = { kind: 'start', order, epoch: 1, slot: 1 } as const;
const filled: Carried['run'] = (_, { secrets, say }) => {
  const token = secrets.fill('${secret:TOKEN}', API);
  say('stdout', `line ${token}`);
  return Promise.resolve({ [token]: [`output ${token}`] });
};
const throwing =
  (make: (text: string) => Error): Carried['run'] =>
  (_, { secrets }) =>
    Promise.reject(make(`said ${secrets.fill('${secret:TOKEN}', API)}`));

test.each<[string, Carried['run']]>([
  ['its lines and outputs', filled],
  [
    'a clean failure',
    throwing((text) => new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', text, { headers: [text] }))),
  ],
  ['the reason of a doubt', throwing((text) => new OutcomeUnknown(text))],
  ['the log of any other error', throwing((text) => new Error(text, { cause: new Error(text) }))],
])('a secret of a start is in no part of its result: %s', async (_, run) => {
  expect(await allOf({ run }, start)).not.toContain('sesame');
});

test('a secret of a start is not in the result of a probe', async () => {
  const probe: Carried['probe'] = (_, { secrets }) => {
    const token = secrets.fill('${secret:TOKEN}', API);
    return Promise.resolve({ found: 'applied', reason: token, outputs: { token } });
  };
  const work = { kind: 'probe', order, epoch: 2, slot: 1, unended: [] } as const;
  const all = await allOf({ run: filled, probe }, work);
  expect(all).not.toContain('sesame');
  expect(all).toContain('"found":"applied"');
});
