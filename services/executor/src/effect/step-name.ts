import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { StepName } from '@holdpoint/contracts/task/events';
import { isWork } from './admission.ts';

/**
 * Which part of its attempt an order is, for whoever reads its output: of work it stands at the end of its key, behind the
 * last colon; an effect is what its node is there for.
 */
export const stepOf = (order: RunEffect): string => {
  const key = order.effect.idempotencyKey;
  const said = StepName.safeParse(key.slice(key.lastIndexOf(':') + 1)).data;
  return isWork(order) && said !== undefined && said.length <= 64 ? said : 'run';
};
