import { z } from 'zod';
import { Callback, HeldEffect, HeldInputs } from '../effect/hold.ts';
import { CallbackId, TaskId } from '../values/ids.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** The callback in the stored inputs of a held effect. A newer release may have accepted more fields. */
export const NamedCallback = z.object({
  capability: HeldInputs.shape.capability,
  key: HeldInputs.shape.key,
  callback: z.object(Callback.shape),
});

/** Orders the callback of a held effect that ended or is in doubt. The orchestrator repeats it until it is taken. */
export const CallBack = z.object({
  id: CallbackId,
  task: TaskId,
  /** Its sender may be of a newer release, which knows more fields. */
  callback: NamedCallback.shape.callback,
  held: HeldEffect,
  at: Time,
});
export type CallBack = z.infer<typeof CallBack>;

/** The callback is stored, and its delivery no longer concerns the task. */
export const CallbackTaken = z.object({ id: TaskId, callback: CallbackId });
export type CallbackTaken = z.infer<typeof CallbackTaken>;

const Problem = z.string().max(1_000);

const about = { id: CallbackId, at: Time } as const;

export const CallbackOrdered = z.object({ type: z.literal('callback_ordered'), ...CallBack.shape });
/** Attempts so far, this one included. */
const Tries = z.int().min(1);

/** An attempt failed, and a further one follows. */
export const CallbackMissed = z.object({
  type: z.literal('callback_missed'),
  ...about,
  tries: Tries,
  problem: Problem,
});
export const CallbackDelivered = z.object({ type: z.literal('callback_delivered'), ...about, tries: Tries });
/** The receiver refused the callback for good, or every attempt failed. */
export const CallbackFailed = z.object({
  type: z.literal('callback_failed'),
  ...about,
  tries: Tries,
  problem: Problem,
});
export const CallbackEvent = z.discriminatedUnion('type', [
  CallbackOrdered,
  CallbackMissed,
  CallbackDelivered,
  CallbackFailed,
]);
export type CallbackEvent = z.infer<typeof CallbackEvent>;
