import { z } from 'zod';
import { Callback, HeldEffect } from '../effect/hold.ts';
import { CallbackId, TaskId } from '../values/ids.ts';

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

/** Orders the callback of a held effect that ended or is in doubt. The orchestrator repeats it until it is taken. */
export const CallBack = z.object({
  id: CallbackId,
  task: TaskId,
  callback: Callback,
  held: HeldEffect,
  at: Time,
});
export type CallBack = z.infer<typeof CallBack>;

/** The callback is stored, and its delivery no longer concerns the task. */
export const CallbackTaken = z.object({ id: TaskId, callback: CallbackId });
export type CallbackTaken = z.infer<typeof CallbackTaken>;

const about = { id: CallbackId, at: Time } as const;

export const CallbackOrdered = z.object({ type: z.literal('callback_ordered'), ...CallBack.shape });
export const CallbackDelivered = z.object({ type: z.literal('callback_delivered'), ...about });
/** The receiver refused the callback for good, or every attempt failed. */
export const CallbackFailed = z.object({
  type: z.literal('callback_failed'),
  ...about,
  problem: z.string().max(1_000),
});
export const CallbackEvent = z.discriminatedUnion('type', [
  CallbackOrdered,
  CallbackDelivered,
  CallbackFailed,
]);
export type CallbackEvent = z.infer<typeof CallbackEvent>;
