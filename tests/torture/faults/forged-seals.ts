import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ExecutorKeyView, joinRequest } from '@holdpoint/contracts/approval/enrolment';
import { rawPublicKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { SealSigner } from '@holdpoint/runtime/engine/seals';
import { sealSignerOf } from '@holdpoint/runtime/service/seal-key';
import { headers, type NatsConnection, RequestError, TimeoutError } from '@nats-io/transport-node';
import { z } from 'zod';
import { natsHeaders, sealWith, signerOf, strangeSigner } from '../../kit/bus/seals.ts';
import { FORGED, type Recorded } from '../bus-recorder.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { Attack } from '../evidence/attacks.ts';
import { createRandom, type Random } from '../random.ts';
import { defineFault } from './fault.ts';
import { type Senders, senderOf, withSenders } from './senders.ts';

type Forged = { readonly subject: string; readonly body: string | Uint8Array };

const Requested = z.object({ id: z.string(), task: z.string(), node: z.string(), revision: z.int() });
const Ordered = z.object({
  id: z.string(),
  attempt: z.int(),
  effect: z.object({ task: z.string(), node: z.string() }),
});

const bodiesOn = (heard: readonly Recorded[], start: string): readonly unknown[] =>
  heard.flatMap(({ subject, body }) =>
    subject.startsWith(start) ? [JSON.parse(Buffer.from(body).toString('utf8')) as unknown] : [],
  );

/** Decisions about requests of the run: each of them would let its task continue. */
const decisions = (heard: readonly Recorded[], random: Random): readonly Forged[] =>
  bodiesOn(heard, 'hp.evt.approval.requested.').flatMap((body) => {
    const { data } = Requested.safeParse(body);
    if (data === undefined) return [];
    const said = random.pick([
      { outcome: 'approved', grant: 'forged.grant', validUntil: Date.now() + 3_600_000 },
      { outcome: 'rejected' },
      { outcome: 'answered', answer: 'done' },
    ]);
    const event = { type: 'resolved', ...data, by: 'operator', at: Date.now(), ...said };
    return [{ subject: subjects.event('approval', 'resolved', data.id), body: JSON.stringify(event) }];
  });

/** Outcomes of ordered effects of the run. */
const outcomes = (heard: readonly Recorded[]): readonly Forged[] =>
  bodiesOn(heard, 'hp.cmd.effect.run.').flatMap((body) => {
    const { data } = Ordered.safeParse(body);
    if (data === undefined) return [];
    const { id, attempt, effect } = data;
    const event = { type: 'applied', id, ...effect, attempt, epoch: 1, outputs: {} };
    return [{ subject: subjects.event('effect', 'applied', id), body: JSON.stringify(event) }];
  });

/** Services follow a revocation within 30 seconds. */
const KNOWN_AFTER_MS = 60_000;
type Revoked = { readonly signer: SealSigner; readonly at: number };
const revokedKeys = new WeakMap<Deployment, Revoked>();

/** Enrols the key of an executor and revokes it. Undefined while approvals does not answer. */
const revokeOne = async (
  { credentialsDir, people }: Deployment,
  { executor, operator }: Senders,
): Promise<Revoked | undefined> => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const secret = (await readFile(layout(credentialsDir).joinSecret, 'utf8')).trim();
  const joining = { name: 'torture-stolen', x: rawPublicKeyOf(publicKey) };
  const token = headers();
  token.set('authorization', `Bearer ${people[0]?.token ?? ''}`);
  const ask = async (connection: NatsConnection, endpoint: string, body: object) =>
    ExecutorKeyView.safeParse(
      (
        await connection.request(subjects.api('approvals', endpoint), JSON.stringify(body), {
          timeout: 5_000,
          headers: token,
        })
      ).json(),
    ).data;
  try {
    const enrolled = await ask(executor, 'executor_join', joinRequest(joining, secret, privateKey));
    const revoked = enrolled && (await ask(operator, 'executor_revoke', { id: enrolled.id }));
    return revoked && { signer: sealSignerOf(privateKey), at: Date.now() };
  } catch (error) {
    if (error instanceof TimeoutError || error instanceof RequestError) return undefined;
    throw error;
  }
};

/** A revoked key that every service knows as such. */
const revokedSigner = async (deployment: Deployment, senders: Senders): Promise<SealSigner | undefined> => {
  const known = revokedKeys.get(deployment) ?? (await revokeOne(deployment, senders));
  if (known !== undefined) revokedKeys.set(deployment, known);
  return known !== undefined && Date.now() - known.at > KNOWN_AFTER_MS ? known.signer : undefined;
};

/**
 * An attacker has the bus users of all services and two of their keys. They forge decisions and outcomes under the key of
 * another role, an unknown key or a revoked one. They change messages under their seals, and move seals to other messages.
 */
export const forgedSeals = defineFault({
  name: 'forged-seals',
  group: 'attack',
  weight: 2,
  params: z.object({ messages: z.int().min(1), seed: z.string() }),
  draw: (random) => ({ messages: random.int(20, 80), seed: String(random.int(0, 2 ** 31)) }),
  takes: () => ['nats'],
  inject: ({ messages, seed }, { deployment, recorder, step }) =>
    withSenders(deployment, async (senders) => {
      const random = createRandom(`${seed}/forged`);
      const heard = recorder.latest();
      const sealed = heard.filter(({ seal }) => seal !== undefined);
      const forgeries = [...decisions(heard, random), ...outcomes(heard)];
      const { credentialsDir } = deployment;
      const stolen = [
        strangeSigner(),
        await signerOf('orchestrator', senders.orchestrator, credentialsDir),
        await signerOf('recovery', senders.recovery, credentialsDir),
        await revokedSigner(deployment, senders),
      ].filter((signer) => signer !== undefined);

      let tried = 0;
      const send = ({ subject, body }: Forged, marks: Readonly<Record<string, string>>): void => {
        const user = senderOf(subject);
        if (user === undefined) return;
        const messageId = `${FORGED}${String(step)}-${String(tried)}`;
        const marked = natsHeaders({ ...marks, [HEADERS.messageId]: messageId });
        senders[user].publish(subject, body, { headers: marked });
        tried += 1;
      };
      const sealOf = ({ id = '', seal = '' }: Recorded) => ({ [HEADERS.id]: id, [HEADERS.seal]: seal });
      for (let i = 0; i < messages && forgeries.length > 0; i += 1) {
        const forged = random.pick(forgeries);
        const { subject, body } = forged;
        const id = `${FORGED}${String(step)}-${String(i)}`;
        send(forged, sealWith(random.pick(stolen), subject, body, id));
      }
      for (let i = 0; i < messages / 2 && sealed.length > 0; i += 1) {
        const [one, other] = [random.pick(sealed), random.pick(sealed)];
        if (one.subject !== other.subject) send({ subject: other.subject, body: one.body }, sealOf(one));
        send({ subject: one.subject, body: `${Buffer.from(one.body).toString('utf8')} ` }, sealOf(one));
      }
      await Promise.all(Object.values(senders).map((connection) => connection.flush()));
      return { tried, accepted: [], keys: stolen.length } satisfies Attack & { keys: number };
    }),
});
