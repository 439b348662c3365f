import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { joinRequest } from '@holdpoint/contracts/approval/enrolment';
import { rawPublicKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { sealAll } from '@holdpoint/contracts/bus/seal';
import { isFromPeople, senderOf } from '@holdpoint/contracts/bus/senders';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { SealSigner } from '@holdpoint/runtime/engine/seals';
import { sealSignerOf } from '@holdpoint/runtime/service/seal-key';
import { headers as createHeaders, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { untilTrue } from '../until.ts';

const executors = new WeakMap<NatsConnection, SealSigner>();
let count = 0;

/** Enrols a key at the approvals service, as a new executor does. Without that service the key stays unknown. */
const enrolled = async (connection: NatsConnection, credentialsDir: string): Promise<SealSigner> => {
  const known = executors.get(connection);
  if (known !== undefined) return known;
  count += 1;
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const secret = (await readFile(layout(credentialsDir).joinSecret, 'utf8')).trim();
  const joining = { name: `test-${String(process.pid)}-${String(count)}`, x: rawPublicKeyOf(publicKey) };
  const request = JSON.stringify(joinRequest(joining, secret, privateKey));
  await untilTrue('the executor of the test is enrolled', async () => {
    const answer = await connection.request(subjects.api('approvals', 'executor_join'), request);
    return answer.json<{ status?: string }>().status === 'enrolled';
  });
  const signer = sealSignerOf(privateKey);
  executors.set(connection, signer);
  return signer;
};

/** The key of a service of the run. */
export const signerOf = async (
  service: ServiceName,
  connection: NatsConnection,
  credentialsDir: string,
): Promise<SealSigner> =>
  service === 'executor'
    ? enrolled(connection, credentialsDir)
    : sealSignerOf(createPrivateKey(await readFile(layout(credentialsDir).sealKey(service))));

/** The headers of a message, from their names and values. */
export const natsHeaders = (named: Readonly<Record<string, string>>): MsgHdrs => {
  const made = createHeaders();
  for (const [name, value] of Object.entries(named)) made.set(name, value);
  return made;
};

/** The headers by which a service proves that it sent this message. */
export const sealWith = (
  { kid, sign }: SealSigner,
  subject: string,
  body: string | Uint8Array,
  id: string = randomUUID(),
): Readonly<Record<string, string>> => {
  const [seal = ''] = sealAll([{ subject, id, body }], kid, sign);
  return { [HEADERS.id]: id, [HEADERS.seal]: seal };
};

/** The same for the only service that may send it; none for messages of people. */
export const sealFor = async (
  connection: NatsConnection,
  credentialsDir: string,
  subject: string,
  body: string | Uint8Array,
  id?: string,
): Promise<Readonly<Record<string, string>>> => {
  const service = isFromPeople(subject) ? undefined : senderOf(subject);
  if (service === undefined) return id === undefined ? {} : { [HEADERS.id]: id };
  return sealWith(await signerOf(service, connection, credentialsDir), subject, body, id);
};

/** A key that no service knows. */
export const strangeSigner = (): SealSigner => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return sealSignerOf(privateKey);
};
