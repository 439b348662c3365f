import { type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { RequestSource } from '../approval/identity.ts';
import { publicKeyFrom, RawPublicKey } from '../approval/signing-keys.ts';
import { EffectId } from '../values/ids.ts';
import { canonicalJson, JsonObject } from '../values/json.ts';
import { PlainText } from '../values/person.ts';
import { RunEffect } from './commands.ts';
import { Grant } from './grant.ts';
import { RemoteLabel } from './remote-name.ts';

// A remote effect is carried out by a program of a user, the claimant, instead of an executor. The ledger stays with
// the executors: the claimant claims an order, beats while it works, and ends it.

/** Default of {@link Claim}'s `leaseMs`. */
export const CLAIM_LEASE_MS = 30_000;
/** Limits of the wait of one claim, in milliseconds. */
export const CLAIM_WAIT_MAX_MS = 25_000;
/** Limit of outputs in JSON; larger ones belong into an artifact. */
export const REMOTE_OUTPUTS_MAX_BYTES = 256 * 1_024;
/** Claims of one request. */
export const CLAIMED_MAX = 100;

/**
 * A program of a user asks for orders. The request carries the identity of a token with the scope `effects:claim`. A repeated
 * `claim` is answered with the same orders, as long as their leases last: an answer that was lost costs nothing.
 */
export const Claim = z.object({
  /** Chosen at random for each claim. */
  claim: z.string().regex(/^[A-Za-z0-9_-]{16,64}$/, '16 to 64 letters, digits, - and _'),
  /** Name of the program and its machine, for people. */
  claimant: PlainText(100),
  /** Public key of the program. Beats and ends of its claims must be signed with it. */
  x: RawPublicKey,
  /** Labels that it carries out. */
  uses: z.array(RemoteLabel).min(1).max(100),
  /** Labels whose effects it can probe. */
  probes: z.array(RemoteLabel).max(100).optional(),
  /** Maximum number of orders; default 1. */
  max: z.int().min(1).max(CLAIMED_MAX).optional(),
  /** Waits this long for an order; default 0. Milliseconds. */
  waitMs: z.int().min(0).max(CLAIM_WAIT_MAX_MS).optional(),
  /** Time without a beat after which the outcome counts as unknown; default {@link CLAIM_LEASE_MS}. */
  leaseMs: z.int().min(2_000).max(900_000).optional(),
  /**
   * A name that only one running process can hold, such as a locked folder. A later holder proves that this process is gone.
   */
  seat: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .optional(),
});
export type Claim = z.infer<typeof Claim>;

/** An order in the hands of a claimant. */
export const ClaimedOrder = z.object({
  /** `run`: carry it out once; `probe`: find out whether it was applied, and change nothing. */
  kind: z.enum(['run', 'probe']),
  /** With its grant. The claimant verifies it before it acts. */
  order: RunEffect,
  /** Rises with every start. A fenced target compares it. */
  epoch: z.int().min(1),
  /** The lease ends this long after the answer left, unless a beat extends it. Milliseconds. */
  leaseMs: z.int(),
  /** The signed answer `retry` that ordered this start: it stands in for a grant that has expired. */
  statement: Grant.optional(),
});
export type ClaimedOrder = z.infer<typeof ClaimedOrder>;

export const ClaimAnswer = z.object({ items: z.array(ClaimedOrder) });
export type ClaimAnswer = z.infer<typeof ClaimAnswer>;

const Signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/, '64 bytes in base64url');
const held = { id: EffectId, epoch: z.int().min(1) } as const;

/** Extends leases that are in force. */
export const Beat = z.object({
  x: RawPublicKey,
  items: z.array(z.object(held)).min(1).max(CLAIMED_MAX),
  signature: Signature,
});
export type Beat = z.infer<typeof Beat>;

/** State of a claim after a beat. `lost`: it no longer holds the effect. `cancelled`: stop, if that is possible. */
export const BeatAnswer = z.object({
  items: z.array(z.object({ ...held, state: z.enum(['held', 'cancelled', 'lost']), leaseMs: z.int() })),
});
export type BeatAnswer = z.infer<typeof BeatAnswer>;

/** The claimant that has an order, as the ledger records it. */
export const RemoteHolder = z.object({
  claimant: PlainText(100),
  x: RawPublicKey,
  claim: z.string(),
  leaseMs: z.int(),
  seat: z.string().optional(),
  /** Owner of the token of the claim, and the token. */
  principal: z.string(),
  token: z.string().optional(),
  /** From where the claim came, as approvals saw it. */
  from: RequestSource.optional(),
  /** Epoch milliseconds. */
  since: z.int(),
});
export type RemoteHolder = z.infer<typeof RemoteHolder>;

/** Error code of a program: it must not look like one of ours. */
export const RemoteError = z.object({
  code: z.string().regex(/^REMOTE_[A-Z0-9_]{1,64}$/, 'a code such as REMOTE_CARD_DECLINED'),
  message: z.string().min(1).max(2_000),
});
export type RemoteError = z.infer<typeof RemoteError>;

/** The result of a run. Only `failed_clean` states that nothing happened. */
export const RemoteOutcome = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('applied'), outputs: JsonObject }),
  z.object({ kind: z.literal('failed_clean'), error: RemoteError }),
  z.object({ kind: z.literal('unknown'), reason: z.string().min(1).max(2_000) }),
]);
export type RemoteOutcome = z.infer<typeof RemoteOutcome>;

/** The result of a probe. */
export const RemoteFinding = z.object({
  kind: z.literal('found'),
  found: z.enum(['applied', 'not_applied', 'unknown']),
  reason: z.string().min(1).max(2_000),
  outputs: JsonObject.optional(),
});
export type RemoteFinding = z.infer<typeof RemoteFinding>;

/** Ends a run or a probe. Repeating it is harmless. */
export const EndClaim = z.object({
  x: RawPublicKey,
  ...held,
  result: z.union([RemoteOutcome, RemoteFinding]),
  signature: Signature,
});
export type EndClaim = z.infer<typeof EndClaim>;

/** `repeated`: this result was recorded before. */
export const EndAnswer = z.object({ ...held, status: z.enum(['recorded', 'repeated']) });
export type EndAnswer = z.infer<typeof EndAnswer>;

type Unsigned = Omit<Beat, 'signature'> | Omit<EndClaim, 'signature'>;

/** Its first word keeps it apart from every other text that a key signs. */
const textOf = (body: Unsigned): Buffer => Buffer.from(`holdpoint-claim/1\n${canonicalJson(body)}`);

/** Signs a beat or an end with the key of the claim. */
export const signed = <Body extends Unsigned>(
  body: Body,
  key: KeyObject,
): Body & { readonly signature: string } => ({
  ...body,
  signature: sign(null, textOf(body), key).toString('base64url'),
});

/** Whether the holder of the key `x` has signed a beat or an end. */
export const isSignedByClaimant = ({ signature, ...body }: Beat | EndClaim): boolean => {
  const key = publicKeyFrom(body.x);
  return key !== undefined && verify(null, textOf(body), key, Buffer.from(signature, 'base64url'));
};

/** A program that claims, as people see it. */
export const ClaimantView = z.object({
  claimant: z.string(),
  x: RawPublicKey,
  /** Owner of its token, and the token. */
  principal: z.string(),
  token: z.string().optional(),
  /** From where its latest claim came, as approvals saw it. */
  from: RequestSource.optional(),
  uses: z.array(RemoteLabel),
  /** It waits for an order now. */
  isWaiting: z.boolean(),
  /** Epoch milliseconds. */
  since: z.number(),
  seenAt: z.number(),
  /** Orders in its hands. */
  holds: z.array(z.object({ ...held, uses: RemoteLabel, startedAt: z.number() })),
});
export type ClaimantView = z.infer<typeof ClaimantView>;
