import { expect, test } from 'vitest';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import type { NatsConnection } from '@nats-io/transport-node';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { AskService } from '../bus/ask-service.ts';
import { agentPhase, workflowOf } from '../testing/fixture.ts';
import { keepRegistered } from './registration.ts';

const { definition } = workflowOf({ first: agentPhase({ run: () => 1, next: 'done' }) });

/** A connection with outages, and an orchestrator with scripted answers. */
const start = (
  answers: readonly (Error | undefined)[],
  programs: readonly ProgramDefinition[] = [definition],
) => {
  let reconnected = (): void => undefined;
  async function* status() {
    for (;;) {
      await new Promise<void>((resolve) => (reconnected = resolve));
      yield { type: 'reconnect' };
    }
  }
  const asked: number[] = [];
  const troubles: unknown[] = [];
  const ask = ((_service: string, _endpoint: string, payload: { programs: readonly unknown[] }) => {
    const answer = answers[asked.length];
    asked.push(payload.programs.length);
    return answer === undefined ? Promise.resolve({ items: [] }) : Promise.reject(answer);
  }) as unknown as AskService;
  const kept = keepRegistered({ status } as unknown as NatsConnection, ask, programs, (error) =>
    troubles.push(error),
  );
  return { kept, asked, troubles, reconnect: () => reconnected() };
};

const away = () => new HoldpointError('RUNTIME_UNAVAILABLE', 'away');

test('registration repeats until it is answered, and again after a reconnection', async () => {
  const { kept, asked, troubles, reconnect } = start([away(), away()]);
  await kept.ready;
  expect(asked).toEqual([1, 1, 1]);
  expect(troubles).toHaveLength(1);
  reconnect();
  await turn();
  expect(asked).toHaveLength(4);
  kept.stop();
  reconnect();
  await turn();
  expect(asked).toHaveLength(4);
});

test('a refused registration is reported at once', async () => {
  const { kept, troubles, asked } = start([new HoldpointError('ORCHESTRATOR_PROGRAM_INVALID', 'no')]);
  await expect(kept.ready).rejects.toMatchObject({ code: 'ORCHESTRATOR_PROGRAM_INVALID' });
  expect(troubles).toHaveLength(1);
  await sleep(400);
  expect(asked).toHaveLength(1);
  kept.stop();
});

test('many workflows register in several requests', async () => {
  const { kept, asked } = start(
    [],
    Array.from({ length: 45 }, () => definition),
  );
  await kept.ready;
  expect(asked).toEqual([20, 20, 5]);
  kept.stop();
});

test('a registration that stops before an answer holds up no caller', async () => {
  const { kept, asked } = start([away(), away(), away(), away()]);
  await turn();
  kept.stop();
  await kept.ready;
  expect(asked).toHaveLength(1);
});
