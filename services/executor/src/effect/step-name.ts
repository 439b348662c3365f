import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { StepName } from '@holdpoint/contracts/task/events';
import { isWork } from './admission.ts';

/** The part of its attempt that an order is, for readers of its output. Work names it behind the last colon of its key. */
export const stepOf = (order: RunEffect): string => {
  if (!isWork(order)) return 'run';
  const key = order.effect.idempotencyKey;
  const name = StepName.safeParse(key.slice(key.lastIndexOf(':') + 1)).data;
  return name !== undefined && name.length <= 64 ? name : 'run';
};
