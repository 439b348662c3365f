/**
 * Durations of the effect protocol, in milliseconds. Every executor on one ledger must use the same values: the ledger ends a
 * lease by them, and the executors send heartbeats and begin effects by them.
 */
export type EffectTiming = {
  /** A worker may be dead after so long without a heartbeat: its effect is then in doubt. */
  readonly leaseMs: number;
  /** A running effect sends a heartbeat this often. */
  readonly heartbeatMs: number;
  /** An effect that has not begun so long after its start was committed must not begin. */
  readonly beginBeforeMs: number;
  /**
   * Nor may it begin so long after its slot was taken: the lease counts from before the commit. Work may begin something for
   * so long after its last confirmed heartbeat, because repeating work does no harm.
   */
  readonly inForceMs: number;
  /** An effect in doubt that waits for a slot is offered again after this, in case the executor that queued it is gone. */
  readonly reofferMs: number;
  /** The same for a remote one, which may wait for a claimant for days. */
  readonly reofferRemoteMs: number;
  /** A probe without a result is started again after this, in case the executor that ran it is gone. */
  readonly reprobeMs: number;
  readonly firstRepeatMs: number;
  /** The delay between repeats doubles up to this. */
  readonly lastRepeatMs: number;
};

export const LEASE_MS = 10_000;

/** All durations keep their ratio to the lease, so that a shorter lease speeds up the whole protocol. */
export const effectTiming = (leaseMs: number = LEASE_MS): EffectTiming => ({
  leaseMs,
  heartbeatMs: leaseMs / 3,
  beginBeforeMs: leaseMs / 4,
  inForceMs: (leaseMs * 3) / 4,
  reofferMs: leaseMs / 2,
  reofferRemoteMs: leaseMs * 3,
  reprobeMs: leaseMs * 12,
  firstRepeatMs: leaseMs / 10,
  lastRepeatMs: (leaseMs * 4) / 5,
});

export const DEFAULT_TIMING: EffectTiming = effectTiming();

/** When a decision is made, and the durations of its timers. */
export type Moment = { readonly now: number; readonly timing: EffectTiming };
