import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { CrashHook } from '@holdpoint/runtime/engine/ports';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import type { EffectHandler } from '../../ports/handler-registry.ts';
import type { CircuitGuard } from '../circuits/circuits.ts';
import type { Finding, Outcome } from '../../effect/decide.ts';
import type { Unended } from '../../effect/state.ts';

/** Notes a start where it outlasts the ledger; resolves once that is on the disk. Until then nothing may leave. */
export type JournalStart = (order: RunEffect, epoch: number) => Promise<void>;

/** The journal, with the places on both sides of a note where a test may end the process. */
export const crashingJournal =
  (note: JournalStart, crash: CrashHook): JournalStart =>
  async (order, epoch) => {
    crash('before_note');
    await note(order, epoch);
    crash('after_note');
  };

/** Nothing is drawn from how it ends. */
const unguarded: CircuitGuard = (_target, _signal, run) => run();

/** Takes secrets of the start out of what an error says. */
type Hide = <Value>(value: Value) => Value;
const asItIs: Hide = (value) => value;

/** Does what was ordered, and says what is known of it. */
export const execute = async (
  capability: EffectHandler | undefined,
  order: RunEffect,
  context: EffectContext,
  {
    note,
    guard = unguarded,
    hide = asItIs,
    log,
  }: { readonly note: JournalStart; readonly guard?: CircuitGuard; readonly hide?: Hide; readonly log: Logger },
): Promise<Outcome> => {
  if (capability === undefined) {
    return {
      kind: 'failed_clean',
      error: errorBody('EXECUTOR_UNKNOWN_CAPABILITY', `this executor has no ${order.effect.uses}`),
    };
  }
  const input = capability.input.safeParse(order.effect.args);
  if (!input.success) {
    const problems = input.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    return { kind: 'failed_clean', error: errorBody('EXECUTOR_INVALID_ARGUMENTS', problems.join('; ')) };
  }
  try {
    await note(order, context.epoch);
  } catch (error) {
    log.error({ ...errorFields(error), effect: order.id }, 'a start could not be noted in the journal');
    return {
      kind: 'failed_clean',
      error: errorBody('EXECUTOR_JOURNAL_UNAVAILABLE', 'the journal cannot be written, so nothing was begun'),
    };
  }
  try {
    const target = capability.target?.(input.data);
    const run = () => capability.run(input.data, context);
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

/**
 * Asks the target whether an effect in doubt was applied. That it was not counts only when every start of it is over: else one
 * may still be on its way.
 */
export const probe = async (
  capability: EffectHandler | undefined,
  context: EffectContext,
  {
    isOver,
    guard = unguarded,
    hide = asItIs,
    log,
  }: { readonly isOver: boolean; readonly guard?: CircuitGuard; readonly hide?: Hide; readonly log: Logger },
): Promise<Finding> => {
  const { order } = context;
  const ask = capability?.probe?.bind(capability);
  if (capability === undefined || ask === undefined)
    return unknown(`this executor cannot ask about ${order.effect.uses}`);
  const input = capability.input.safeParse(order.effect.args);
  if (!input.success) return unknown('its arguments are none that it can be asked about with');
  try {
    const target = capability.target?.(input.data);
    const said = await guard(target, context.signal, () => ask(input.data, context));
    if (said.found !== 'not_applied' || isOver) return said;
    return {
      found: 'unproven',
      reason: `${said.reason}, but the worker that began it may still be at it`,
    };
  } catch (error) {
    log.warn(
      { ...hide(errorFields(error)), effect: order.id },
      'what became of an effect could not be found out',
    );
    const reason =
      error instanceof CleanFailure || error instanceof OutcomeUnknown ? error.message : 'the probe failed';
    return unknown(reason);
  }
};

/** Whether none of the starts that nobody has seen the end of can do anything any more. */
export const allEndedFor =
  (holds: (journal: string) => boolean) =>
  (unended: readonly Unended[]): boolean =>
    // Whoever holds the journal of a worker has outlived it. Where no journal is known, nothing is.
    unended.every(({ journal }) => journal !== undefined && holds(journal));
