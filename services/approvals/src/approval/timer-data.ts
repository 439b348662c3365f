import type { Json, JsonObject } from '@holdpoint/contracts/values/json';

/** What a timer was set with. Whoever set it is the same decider, so it is what was put in. */
export const timerData = (data: Json): JsonObject => {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw new Error('a timer has lost what it was set with');
  return data as JsonObject;
};
