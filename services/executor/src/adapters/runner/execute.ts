import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { CrashHook } from '@holdpoint/runtime/engine/ports';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Finding, Outcome } from '../../effect/decide.ts';
import type { Unended } from '../../effect/state.ts';
import { CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import type { EffectHandler } from '../../ports/handler-registry.ts';
import type { CircuitGuard } from '../circuits/circuits.ts';

/** Writes a start to the journal. Resolves once it is on the disk; nothing may leave the process before. */
export type JournalStart = (order: RunEffect, epoch: number) => Promise<void>;

/** The journal with a crash point on both sides of each write. */
export const crashingJournal =
  (journalStart: JournalStart, crash: CrashHook): JournalStart =>
  async (order, epoch) => {
    crash('before_note');
    await journalStart(order, epoch);
    crash('after_note');
  };

const unguarded: CircuitGuard = (_target, _signal, run) => run();

/** Removes the secrets of the start from an error. */
type Hide = <Value>(value: Value) => Value;
const asItIs: Hide = (value) => value;

/** Runs the capability of an order, and returns its certain or unknown outcome. Never throws. */
export const execute = async (
  handler: EffectHandler | undefined,
  order: RunEffect,
  context: EffectContext,
  {
    journalStart,
    guard = unguarded,
    hide = asItIs,
    log,
  }: {
    readonly journalStart: JournalStart;
    readonly guard?: CircuitGuard;
    readonly hide?: Hide;
    readonly log: Logger;
  },
): Promise<Outcome> => {
  if (handler === undefined) {
    return {
      kind: 'failed_clean',
      error: errorBody('EXECUTOR_UNKNOWN_CAPABILITY', `this executor has no ${order.effect.uses}`),
    };
  }
  const input = handler.input.safeParse(order.effect.args);
  if (!input.success) {
    const problems = input.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    return { kind: 'failed_clean', error: errorBody('EXECUTOR_INVALID_ARGUMENTS', problems.join('; ')) };
  }
  try {
    await journalStart(order, context.epoch);
  } catch (error) {
    log.error({ ...errorFields(error), effect: order.id }, 'cannot write a start to the journal');
    return {
      kind: 'failed_clean',
      error: errorBody(
        'EXECUTOR_JOURNAL_UNAVAILABLE',
        'Cannot write the journal, so the effect did not begin',
      ),
    };
  }
  try {
    const target = handler.target?.(input.data);
    const run = () => handler.run(input.data, context);
    return { kind: 'applied', outputs: await guard(target, context.signal, run) };
  } catch (error) {
    if (error instanceof CleanFailure) return { kind: 'failed_clean', error: error.body };
    log.error(
      { ...hide(errorFields(error)), effect: order.id, uses: order.effect.uses },
      'effect ended without a certain outcome',
    );
    const reason =
      error instanceof OutcomeUnknown
        ? error.message
        : 'the effect ended with an error that does not say whether it happened';
    return { kind: 'unknown', reason };
  }
};

const unknown = (reason: string): Finding => ({ found: 'unknown', reason });

/** Probes the target of an effect in doubt. "Not applied" counts only when all its starts have ended. Never throws. */
export const probe = async (
  handler: EffectHandler | undefined,
  context: EffectContext,
  {
    allEnded,
    guard = unguarded,
    hide = asItIs,
    log,
  }: {
    readonly allEnded: boolean;
    readonly guard?: CircuitGuard;
    readonly hide?: Hide;
    readonly log: Logger;
  },
): Promise<Finding> => {
  const { order } = context;
  const probeTarget = handler?.probe?.bind(handler);
  if (handler === undefined || probeTarget === undefined)
    return unknown(`this executor cannot probe ${order.effect.uses}`);
  const input = handler.input.safeParse(order.effect.args);
  if (!input.success) return unknown('cannot probe: invalid arguments');
  try {
    const target = handler.target?.(input.data);
    const result = await guard(target, context.signal, () => probeTarget(input.data, context));
    if (result.found !== 'not_applied' || allEnded) return result;
    return {
      found: 'unproven',
      reason: `${result.reason}, but the worker that began it may still be running`,
    };
  } catch (error) {
    log.warn({ ...hide(errorFields(error)), effect: order.id }, 'cannot probe an effect in doubt');
    const reason =
      error instanceof CleanFailure || error instanceof OutcomeUnknown ? error.message : 'the probe failed';
    return unknown(reason);
  }
};

/** Whether none of these lost starts can still act. */
export const allEndedFor =
  (holds: (journal: string) => boolean) =>
  (unended: readonly Unended[]): boolean =>
    // The owner of a worker's journal has outlived that worker. A start without a journal proves nothing.
    unended.every(({ journal }) => journal !== undefined && holds(journal));
