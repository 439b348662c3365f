import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { createSeals } from '@holdpoint/runtime/engine/seals';
import { sealSignerOf } from '@holdpoint/runtime/service/seal-key';

// Prints the processor time of sealing and checking one message, by the number of messages of a flush.
const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
const signer = sealSignerOf(createPrivateKey(pem));
const key = createPublicKey(pem);
const keys = { sealKey: () => ({ role: 'approvals', key }) as const, mayLearn: () => false };
const body = JSON.stringify({ type: 'resolved', text: 'x'.repeat(1_000) });
const data = Buffer.from(body);
const subject = 'hp.evt.approval.resolved.a-1';

const MESSAGES = 20_000;
for (const size of [1, 10, 50, 500]) {
  const seals = createSeals(() => signer, keys);
  const flushes = Math.ceil(MESSAGES / size);
  const before = process.cpuUsage();
  let refused = 0;
  for (let flush = 0; flush < flushes; flush += 1) {
    const messages = Array.from({ length: size }, (_, i) => ({
      subject,
      headers: [[HEADERS.id, `m-${String(flush)}-${String(i)}`] as const],
      body,
    }));
    for (const { headers } of seals.seal(messages)) {
      const known = new Map(headers);
      if (!('key' in seals.check({ subject, data, header: (name) => known.get(name) }))) refused += 1;
    }
  }
  const { user, system } = process.cpuUsage(before);
  const microseconds = Math.round((user + system) / (flushes * size));
  process.stdout.write(`${JSON.stringify({ size, microseconds, refused })}\n`);
}
