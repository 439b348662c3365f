import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { headers } from '@nats-io/transport-node';
import { z } from 'zod';
import { createRandom, type Random } from '../random.ts';
import { OURS } from '../bus-recorder.ts';
import { defineFault } from './fault.ts';
import { senderOf, withSenders } from './senders.ts';

const SUBJECTS = [
  'hp.cmd.task.submit',
  'hp.cmd.task.cancel',
  'hp.cmd.task.done',
  'hp.cmd.task.recover',
  'hp.cmd.task.circuit_state',
  'hp.cmd.approval.request',
  'hp.cmd.approval.cancel',
  'hp.cmd.effect.run.default',
  'hp.cmd.effect.cancel.default',
  'hp.cmd.recovery.assess',
  'hp.cmd.recovery.record_attempt',
  'hp.cmd.recovery.job_unstuck',
  'hp.cmd.recovery.circuit_record_failure',
  'hp.cmd.recovery.circuit_acquire',
  'hp.cmd.recovery.circuit_report',
  'hp.evt.approval.resolved.a-torture',
  'hp.evt.effect.applied.e-torture',
] as const;

const DEEP = 20_000;
const LARGE_BYTES = 1_200_000;

/** Unreadable bodies, generated at random. */
const BODIES: readonly ((random: Random) => string | Uint8Array)[] = [
  () => '',
  () => '{',
  () => 'null',
  () => '[]',
  () => '"text"',
  () => '{}',
  (random) => `{"id":${String(random.int(0, 9))},"workflow":[],"goal":{}}`,
  () => '{"__proto__":{"id":"x"},"constructor":{"prototype":{"workflow":"sample"}}}',
  () => `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`,
  () => `{"goal":"${'x'.repeat(LARGE_BYTES)}"}`,
  (random) => Uint8Array.from({ length: random.int(1, 400) }, () => random.int(0, 255)),
  // Cut in the middle of a character.
  () => Buffer.from('{"goal":"\u{1f600}"}').subarray(0, 11),
  () => '{"id":"a.b.>","workflow":"sample","goal":"x"}',
];

/**
 * Unreadable bodies on every subject that a service reads. Each becomes a dead letter and blocks no other
 * message.
 */
export const malformed = defineFault({
  name: 'malformed',
  group: 'message',
  weight: 2,
  params: z.object({ messages: z.int().min(1), seed: z.string() }),
  draw: (random) => ({ messages: random.int(20, 120), seed: String(random.int(0, 2 ** 31)) }),
  takes: () => ['nats'],
  inject: ({ messages, seed }, { deployment, step }) =>
    withSenders(deployment, async (senders) => {
      const random = createRandom(`${seed}/malformed`);
      for (let i = 0; i < messages; i += 1) {
        const subject = random.pick(SUBJECTS);
        const user = senderOf(subject);
        if (user === undefined) throw new Error(`nobody may publish on ${subject}`);
        const marked = headers();
        marked.set(HEADERS.messageId, `${OURS}malformed-${String(step)}-${String(i)}`);
        senders[user].publish(subject, random.pick(BODIES)(random), { headers: marked });
      }
      await Promise.all(Object.values(senders).map((connection) => connection.flush()));
      return { sent: messages };
    }),
});
