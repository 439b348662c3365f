import { createHmac, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import { z } from 'zod';
import { ExecutorKeyId } from '../values/ids.ts';
import { canonicalJson } from '../values/json.ts';
import { ExecutorName, publicKeyFrom, RawPublicKey } from './signing-keys.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();
const Signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/, '64 bytes in base64url');
const Mac = z.string().regex(/^[A-Za-z0-9_-]{43}$/, '32 bytes in base64url');

const Origins = z.array(z.string().max(300)).max(200);

/** Origins that effects may call, from the settings of an executor. */
export const ExecutorReach = z.object({
  request: Origins,
  keyed: Origins,
  idempotent: Origins,
  /** Of notices. Left out by an executor of an earlier release: then it alone refuses a target. */
  notify: Origins.optional(),
  /** `cap.http.request` also calls every public host by https. */
  anyPublic: z.boolean(),
});
export type ExecutorReach = z.infer<typeof ExecutorReach>;

/** Enrols the key of an executor. Repeating it changes nothing. */
export const JoinExecutor = z.object({
  name: ExecutorName,
  x: RawPublicKey,
  /** Left out when there are too many origins: then the executor alone refuses a target. */
  reach: ExecutorReach.optional(),
  /** HMAC-SHA256 with the join secret: the executor belongs to the deployment. */
  proof: Mac,
  /** Signature with the key itself: the executor has it. */
  signature: Signature,
});
export type JoinExecutor = z.infer<typeof JoinExecutor>;

/** The key of an executor, as the API shows it. */
export const ExecutorKeyView = z.object({
  id: ExecutorKeyId,
  /** Name of the executor, as in its journal. */
  name: ExecutorName,
  /** Key id in seals. */
  key: z.string(),
  reach: ExecutorReach.optional(),
  status: z.enum(['enrolled', 'revoked']),
  enrolledAt: Time,
  revokedBy: z.string().optional(),
  revokedAt: Time.optional(),
  /** A person declared the journal of the executor lost. */
  forgottenBy: z.string().optional(),
  forgottenWhy: z.string().optional(),
});
export type ExecutorKeyView = z.infer<typeof ExecutorKeyView>;

export const ExecutorEnrolled = z.object({
  type: z.literal('executor_enrolled'),
  id: ExecutorKeyId,
  name: ExecutorName,
  key: z.string(),
  x: RawPublicKey,
  reach: ExecutorReach.optional(),
  at: Time,
});
export const ExecutorRevoked = z.object({
  type: z.literal('executor_revoked'),
  id: ExecutorKeyId,
  name: ExecutorName,
  key: z.string(),
  by: z.string(),
  reason: z.string().max(1_000).optional(),
  at: Time,
});
export const ExecutorForgotten = ExecutorRevoked.extend({
  type: z.literal('executor_forgotten'),
  reason: z.string().min(1).max(1_000),
});
export const EnrolmentEvent = z.discriminatedUnion('type', [
  ExecutorEnrolled,
  ExecutorRevoked,
  ExecutorForgotten,
]);
export type EnrolmentEvent = z.infer<typeof EnrolmentEvent>;

type Joining = Pick<JoinExecutor, 'name' | 'x' | 'reach'>;

/** Its first word keeps it apart from seals and from every JWS of the same key. */
const textOf = ({ name, x, reach }: Joining): Buffer =>
  Buffer.from(`holdpoint-join/1 ${name}\n${x}${reach === undefined ? '' : `\n${canonicalJson(reach)}`}`);

const macOf = (joining: Joining, secret: string): Buffer =>
  createHmac('sha256', secret).update(textOf(joining)).digest();

export const joinRequest = (joining: Joining, secret: string, key: KeyObject): JoinExecutor => ({
  ...joining,
  proof: macOf(joining, secret).toString('base64url'),
  signature: sign(null, textOf(joining), key).toString('base64url'),
});

/** Whether the sender knows the join secret and has the key. */
export const isJoinValid = ({ proof, signature, ...joining }: JoinExecutor, secret: string): boolean => {
  const [wanted, given] = [macOf(joining, secret), Buffer.from(proof, 'base64url')];
  const key = publicKeyFrom(joining.x);
  return (
    key !== undefined &&
    given.length === wanted.length &&
    timingSafeEqual(given, wanted) &&
    verify(null, textOf(joining), key, Buffer.from(signature, 'base64url'))
  );
};
