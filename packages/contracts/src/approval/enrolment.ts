import { createHmac, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import { z } from 'zod';
import { ExecutorKeyId } from '../values/ids.ts';
import { ExecutorName, publicKeyFrom, RawPublicKey } from './signing-keys.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();
const Signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/, '64 bytes in base64url');
const Mac = z.string().regex(/^[A-Za-z0-9_-]{43}$/, '32 bytes in base64url');

/** Enrols the key of an executor. Repeating it changes nothing. */
export const JoinExecutor = z.object({
  name: ExecutorName,
  x: RawPublicKey,
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

type Joining = Pick<JoinExecutor, 'name' | 'x'>;

/** Its first word keeps it apart from seals and from every JWS of the same key. */
const textOf = ({ name, x }: Joining): Buffer => Buffer.from(`holdpoint-join/1 ${name}\n${x}`);

const macOf = (joining: Joining, secret: string): Buffer =>
  createHmac('sha256', secret).update(textOf(joining)).digest();

export const joinRequest = (joining: Joining, secret: string, key: KeyObject): JoinExecutor => ({
  ...joining,
  proof: macOf(joining, secret).toString('base64url'),
  signature: sign(null, textOf(joining), key).toString('base64url'),
});

/** Whether the sender knows the join secret and has the key. */
export const isJoinValid = ({ name, x, proof, signature }: JoinExecutor, secret: string): boolean => {
  const [wanted, given] = [macOf({ name, x }, secret), Buffer.from(proof, 'base64url')];
  const key = publicKeyFrom(x);
  return (
    key !== undefined &&
    given.length === wanted.length &&
    timingSafeEqual(given, wanted) &&
    verify(null, textOf({ name, x }), key, Buffer.from(signature, 'base64url'))
  );
};
