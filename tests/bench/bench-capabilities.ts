// Capabilities without cost: the measurement shows everything around them.
import { setTimeout as delay } from 'node:timers/promises';
import { defineCapability } from '@holdpoint/executor/capabilities/define';
import { z } from 'zod';

const Nothing = z.object({});

const noop = defineCapability({
  uses: 'cap.custom.bench_noop',
  effectClass: 'idempotent',
  input: Nothing,
  run: () => Promise.resolve({}),
});

/** Long enough for every queued effect to arrive. */
const HELD_MS = 30_000;

const hold = defineCapability({
  uses: 'cap.custom.bench_hold',
  effectClass: 'idempotent',
  input: Nothing,
  run: async (_, { signal }) => {
    await delay(HELD_MS, undefined, { signal });
    return {};
  },
});

export const capabilities = [noop, hold];
