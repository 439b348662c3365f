import type { CapabilityDefinition, RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { PublishedKeys } from '@holdpoint/contracts/approval/signing-keys';
import type { HeldEffect, HeldState, HoldEffect } from '@holdpoint/contracts/effect/hold';
import type {
  Beat,
  BeatAnswer,
  Claim,
  ClaimAnswer,
  EndAnswer,
  EndClaim,
} from '@holdpoint/contracts/effect/remote';

/** The requests of a claimant. Each rejects with `HoldpointError`; `RUNTIME_UNAVAILABLE` without an answer. */
export type ClaimRequests = {
  readonly claim: (claim: Claim) => Promise<ClaimAnswer>;
  readonly beat: (beat: Beat) => Promise<BeatAnswer>;
  readonly end: (end: EndClaim) => Promise<EndAnswer>;
};

/** Holdpoint for effects of one's own: over HTTP, over NATS, or in memory. */
export type RemoteConnection = ClaimRequests & {
  readonly hold: (wanted: HoldEffect) => Promise<HeldEffect>;
  /** Waits up to `waitMs` until the effect has left the state `not`. */
  readonly held: (id: string, options?: { waitMs?: number; not?: HeldState }) => Promise<HeldEffect>;
  readonly cancel: (id: string, reason?: string) => Promise<HeldEffect>;
  /** The registered definition; undefined without one. */
  readonly capability: (name: string) => Promise<RegisteredCapability | undefined>;
  readonly register: (definition: CapabilityDefinition) => Promise<RegisteredCapability>;
  readonly keys: () => Promise<PublishedKeys>;
};
