import { DELIVERIES_MAX, consumers } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { createIntake, type Inbound } from '@holdpoint/runtime/engine/intake';
import { createMemoryStore } from '@holdpoint/runtime/memory/store';
import { inboxPrefixOf } from '@holdpoint/runtime/bus/connection';
import { createNatsPublisher } from '@holdpoint/runtime/bus/publisher';
import { createLateAcks } from '@holdpoint/runtime/bus/late-acks';
import { startSource } from '@holdpoint/runtime/bus/source';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { createCountingEngine, type ToNotes } from '../../kit/effects/counting-engine.ts';
import { recordingLogger } from '../../kit/stack/log-record.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until } from '../../kit/until.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
  await system.start('orchestrator');
});
afterAll(() => system.stop());

/** The runtime on a real bus, with a decider that throws on demand. */
test('a message on which a decider throws is retried alone and becomes a dead letter; the others proceed', async () => {
  const consumer = consumers.find(({ name }) => name === 'recovery');
  if (consumer === undefined) throw new Error('no consumer to read from');
  const connection = await system.connect('recovery');
  const store = createMemoryStore(() => Date.now());
  const { engine } = createCountingEngine(store, {
    publisher: createNatsPublisher(connection, inboxPrefixOf('recovery')),
  });
  const { log, lines } = recordingLogger('recovery');
  const inbound: Inbound<ToNotes> = {
    consumer,
    decode: (_subject, payload) => {
      const { aggregate, name } = payload as { aggregate?: string; name?: string };
      if (aggregate === undefined || name === undefined)
        throw new HoldpointError('CONTRACT_INVALID', 'lacks something');
      return { kind: 'notes', aggregate, message: { kind: 'note', name } };
    },
  };
  const source = startSource(
    connection,
    consumer,
    createIntake(inbound, engine, log, () => ({ key: 'any' })),
    log,
    createLateAcks(),
  );
  // The service itself does not run: its dead letters are where this engine stores them.
  const letters = store.tables.deadLetters;
  const sender = await system.connect('orchestrator');
  const tell = (name: string, id: string) =>
    publish(sender, subjects.recoveryCommand('assess'), JSON.stringify({ aggregate: 'a-1', name }), { id });

  await tell('one', 'm-1');
  await tell('throw', 'm-poison');
  await tell('two', 'm-2');
  await expect.poll(() => store.tables.events.get('a-1')?.length, { timeout: 60_000 }).toBe(2);
  expect(letters).toEqual([]);

  const { letter, body } = await until('there is a dead letter', () => letters[0]);
  expect(letter).toMatchObject({
    subject: subjects.recoveryCommand('assess'),
    reason: { code: 'RUNTIME_POISON' },
    headers: { 'ce-id': 'm-poison' },
    deliveries: DELIVERIES_MAX,
  });
  expect(Buffer.from(body).toString()).toBe('{"aggregate":"a-1","name":"throw"}');
  await untilHandled(system.client.connection);
  expect(store.tables.events.get('a-1')).toHaveLength(2);
  expect(letters).toHaveLength(1);
  // The error stays in the log of the service and is not part of the dead letter.
  expect((await lines()).filter(({ msg }) => msg === 'message could not be handled')).toHaveLength(
    DELIVERIES_MAX,
  );
  expect(JSON.stringify(letters)).not.toContain('cannot be decided');
  await source.stop();
});
