import type { HeldEffect, HeldState, HoldEffect } from '@holdpoint/contracts/effect/hold';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { z } from 'zod';
import { pause, whileAway } from './backoff.ts';
import type { RemoteConnection } from './connection.ts';
import { EffectCancelled, EffectInDoubt, EffectRejected, effectFailed } from './effect-errors.ts';

export type HoldOptions = Pick<HoldEffect, 'reason' | 'audience' | 'approvalTimeoutMs' | 'pool' | 'callback'>;

export type WaitOptions = {
  /** Gives up with `RUNTIME_UNAVAILABLE` after this time; without it, `wait` waits as long as it takes. Milliseconds. */
  readonly withinMs?: number;
  /** Waits on while the outcome is unknown, until a person has answered. */
  readonly throughDoubt?: boolean;
};

/** One held effect. */
export type HeldHandle<Outputs> = {
  /** Id of its task: `get` and the console find it. */
  readonly id: string;
  /**
   * The outputs, once the effect was applied. Throws `EffectRejected`, `EffectFailed`, `EffectCancelled` or
   * `EffectInDoubt`.
   */
  readonly wait: (options?: WaitOptions) => Promise<Outputs>;
  /** The present state. */
  readonly state: () => Promise<HeldEffect>;
  /** Withdraws the effect if it has not started. */
  readonly cancel: (reason?: string) => Promise<void>;
};

const POLL_MS = 20_000;

const outputsOf = <Outputs>(held: HeldEffect, schema: z.ZodType<Outputs> | undefined): Outputs => {
  const { outputs = {} } = held;
  if (schema === undefined) return outputs as Outputs;
  const { success, data, error } = schema.safeParse(outputs);
  if (success) return data;
  throw new HoldpointError(
    'PROGRAM_OUTPUT_INVALID',
    `the effect was applied, but its outputs do not fit the schema: ${z.prettifyError(error)}`,
  );
};

/** The outcome of a held effect, or undefined while it is open. Throws the error of its final state. */
export const outcomeOf = <Outputs>(
  held: HeldEffect,
  schema: z.ZodType<Outputs> | undefined,
  { throughDoubt = false }: Pick<WaitOptions, 'throughDoubt'> = {},
): { readonly outputs: Outputs } | undefined => {
  const { state, error, by, comment } = held;
  const message = error?.message ?? comment ?? `the effect is ${state}`;
  switch (state) {
    case 'applied':
      return { outputs: outputsOf(held, schema) };
    case 'rejected':
      throw new EffectRejected(comment ?? message, { ...(by !== undefined && { by }) }, error?.code);
    case 'failed':
      throw effectFailed(error ?? { code: 'NODE_FAILED', message });
    case 'cancelled':
      throw new EffectCancelled('NODE_CANCELLED', message);
    case 'in_doubt':
      if (throughDoubt) return undefined;
      throw new EffectInDoubt(`whether the effect happened is unknown: a person has to look`);
    case 'requested':
    case 'waiting':
    case 'approved':
    case 'running':
      return undefined;
  }
};

/** A handle of an existing effect. */
export const heldHandle = <Outputs>(
  connection: RemoteConnection,
  { id }: Pick<HeldEffect, 'id'>,
  schema?: z.ZodType<Outputs>,
): HeldHandle<Outputs> => {
  const wait = async (options: WaitOptions = {}): Promise<Outputs> => {
    const { withinMs = Number.POSITIVE_INFINITY } = options;
    const until = performance.now() + withinMs;
    let not: HeldState | undefined;
    for (let failures = 0; ;) {
      const waitMs = Math.max(0, Math.min(POLL_MS, until - performance.now()));
      try {
        const wanted = { waitMs: not === undefined ? 0 : Math.floor(waitMs), ...(not && { not }) };
        const held = await connection.held(id, wanted);
        failures = 0;
        const outcome = outcomeOf(held, schema, options);
        if (outcome !== undefined) return outcome.outputs;
        not = held.state;
      } catch (error) {
        if (!hasCode(error, 'RUNTIME_UNAVAILABLE')) throw error;
        failures += 1;
        await pause(failures);
      }
      if (performance.now() >= until)
        throw new HoldpointError('RUNTIME_UNAVAILABLE', `the effect is still open: wait for ${id} again`);
    }
  };
  return {
    id,
    wait,
    state: () => connection.held(id),
    cancel: async (reason) => {
      await connection.cancel(id, reason);
    },
  };
};

/** The key makes a repeat harmless. */
export const holdOver = async <Outputs>(
  connection: RemoteConnection,
  wanted: HoldEffect,
  schema?: z.ZodType<Outputs>,
): Promise<HeldHandle<Outputs>> =>
  heldHandle(connection, await whileAway(() => connection.hold(wanted)), schema);
