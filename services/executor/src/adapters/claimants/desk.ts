import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import {
  type Claim,
  CLAIM_LEASE_MS,
  type ClaimAnswer,
  type ClaimedOrder,
  type RemoteHolder,
} from '@holdpoint/contracts/effect/remote';
import type { Taker, WaitingOrder } from './matching.ts';

/** An answer must fit into a message. */
const ANSWER_BYTES_MAX = 512 * 1_024;
/** Of an order in an answer, beside the order. */
const ITEM_BYTES = 256;

/** Who claims: the owner of a token, the token, and from where. */
export type Claiming = Pick<RemoteHolder, 'principal' | 'token' | 'from'>;

/** A claim that is not answered yet. */
export type Desk = Taker & {
  readonly key: string;
  readonly holder: Omit<RemoteHolder, 'since'>;
  readonly max: number;
  answer: (answer: ClaimAnswer) => void;
  endWait: () => void;
  /** The wait has ended: the answer goes out once no decision is under way. */
  over: boolean;
  /** This claim has looked into the ledger. */
  ready: boolean;
  /** Decisions under way. */
  pending: number;
  reserved: number;
  bytes: number;
  readonly items: { readonly item: ClaimedOrder; readonly since: number }[];
};

/** One claim of one program, however often it is repeated. */
export const deskKeyOf = ({ claim, x, principal }: Pick<RemoteHolder, 'claim' | 'x' | 'principal'>): string =>
  `${claim} ${x} ${principal}`;

const bytesOf = (order: RunEffect): number => Buffer.byteLength(JSON.stringify(order)) + ITEM_BYTES;

/** An order as it waits for a claim. */
export const waitingOf = (order: RunEffect, isProbe = false): WaitingOrder => ({
  id: order.id,
  task: order.effect.task,
  uses: order.effect.uses,
  to: isProbe ? 'probe' : 'run',
  bytes: bytesOf(order),
  grant: order.grant,
});

/** The place of a new claim. */
export const deskFor = (
  { claim, claimant, x, uses, probes = [], max = 1, leaseMs = CLAIM_LEASE_MS, seat }: Claim,
  who: Claiming,
): Desk => {
  const desk: Desk = {
    key: deskKeyOf({ claim, x, ...who }),
    holder: { claimant, x, claim, leaseMs, ...who, ...(seat !== undefined && { seat }) },
    wants: [
      ...uses.map((each) => ({ uses: each, to: 'run' as const })),
      ...probes.map((each) => ({ uses: each, to: 'probe' as const })),
    ],
    hasRoom: (bytes) =>
      desk.items.length === 0 &&
      desk.reserved < max &&
      (desk.reserved === 0 || desk.bytes + bytes <= ANSWER_BYTES_MAX),
    max,
    answer: () => undefined,
    endWait: () => undefined,
    over: false,
    ready: false,
    pending: 0,
    reserved: 0,
    bytes: 0,
    items: [],
  };
  return desk;
};
