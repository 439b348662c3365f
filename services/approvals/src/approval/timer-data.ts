import type { Json, JsonObject } from '@holdpoint/contracts/values/json';

/** The data that a timer was set with. The same decider has set it, so its shape is known. */
export const timerData = (data: Json): JsonObject => {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw new Error('timer payload is missing');
  return data as JsonObject;
};
