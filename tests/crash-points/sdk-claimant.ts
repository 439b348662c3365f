import type { KeyObject } from 'node:crypto';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { LEASE_MS } from '@holdpoint/executor/effect/timing';
import { runClaimant } from '@holdpoint/sdk/remote/claimant';
import type { ClaimRequests } from '@holdpoint/sdk/remote/connection';
import { defineEffect, type RemoteContext } from '@holdpoint/sdk/remote/define-effect';
import { nothingHappened } from '@holdpoint/sdk/remote/effect-errors';
import { z } from 'zod';
import type { Life } from '../simulation/process-life.ts';
import type { Work } from './function.ts';
import { BEGINS, KEYS, ordersFor } from './orders.ts';

const Args = z.object({ charge: z.string(), cents: z.number() });
export type Args = z.infer<typeof Args>;
const WAITS_MS = 3_000;

type Parts = {
  readonly life: Life;
  /** The name of this process. */
  readonly name: string;
  readonly key: KeyObject;
  readonly seat: string;
  readonly say: ClaimRequests;
  readonly claimName: () => string;
};

/** The order as the function knows it: its arguments, and the context of its start. */
export const orderOf = (effectClass: EffectClass, args: Args): RunEffect => {
  const { approved } = ordersFor('claimant', effectClass);
  const effect = { ...approved.effect, args };
  return { ...approved, effect, digest: effectDigest(effect) };
};

/** A program on the claimant of the SDK. */
export const beginSdkClaimant = (
  { life, name, key, seat, say, claimName }: Parts,
  effectClass: EffectClass,
  work: Work,
): void => {
  const run = async (args: Args, context: RemoteContext) => {
    await context.assertInForce();
    const result = await work.run(life, {
      order: orderOf(effectClass, args),
      epoch: context.epoch,
      assertInForce: () => context.signal.throwIfAborted(),
    });
    if (result.kind === 'applied') return result.outputs;
    if (result.kind === 'failed_clean') throw nothingHappened(result.error.code, result.error.message);
    throw new Error(result.reason);
  };
  const effect = defineEffect({
    name: effectClass,
    effectClass,
    input: Args,
    key: ({ charge }) => `refund:${charge}`,
    run,
    ...(effectClass === 'probeable' && { probe: () => work.probe(life) }),
  });
  const keys = () => Promise.resolve(KEYS);
  runClaimant({
    say,
    clock: life.clock,
    now: () => BEGINS + life.clock.now(),
    key,
    claimName,
    trust: { keys, refresh: keys },
    effects: [effect],
    name,
    concurrency: 1,
    waitMs: WAITS_MS,
    leaseMs: LEASE_MS,
    seat,
    drainMs: 0,
    log: () => undefined,
  });
};
