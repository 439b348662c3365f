import { applyPatches, enablePatches, freeze, type Patch, produceWithPatches } from 'immer';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { AnyState } from '../../definition/phase.ts';
import { STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import { z } from 'zod';
import { jsonBytes, toJson } from './json-value.ts';

enablePatches();

const INVALID = 'PROGRAM_STATE_INVALID';

/** The stored form of a state. Throws `PROGRAM_STATE_INVALID` or `PROGRAM_STATE_TOO_LARGE`. */
export const checkState = (schema: z.ZodObject, state: unknown): JsonObject => {
  // Checks for JSON first, because the schema may convert values.
  const plain = toJson(state, { code: INVALID, what: 'state', lenient: true });
  const { success, data, error } = schema.safeParse(plain);
  if (!success)
    throw new HoldpointError(INVALID, `the state does not fit its schema: ${z.prettifyError(error)}`);
  const checked = toJson(data, { code: INVALID, what: 'state', lenient: true }) as JsonObject;
  const bytes = jsonBytes(checked);
  if (bytes <= STATE_MAX_BYTES) return checked;
  throw new HoldpointError(
    'PROGRAM_STATE_TOO_LARGE',
    `the state has ${String(bytes)} bytes, above the limit of ${String(STATE_MAX_BYTES)}: store large values as artifacts`,
  );
};

const isPromise = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** The state of a running phase; only drafts change it. */
export type StateHolder = {
  readonly current: () => AnyState;
  readonly update: (recipe: (draft: AnyState) => unknown) => void;
  readonly replace: (state: AnyState) => void;
  /** Returns a function that lists all changes since this call. */
  readonly changesSince: () => () => readonly Patch[];
  readonly apply: (patches: readonly Patch[]) => void;
};

export const createStateHolder = (initial: AnyState): StateHolder => {
  let state = freeze(initial, true);
  const changes: Patch[] = [];
  return {
    current: () => state,
    update: (recipe) => {
      const [changed, patches] = produceWithPatches(state, (draft) => {
        // A draft is valid only during its function: later changes would be lost.
        if (isPromise(recipe(draft))) throw new TypeError('update needs a synchronous function');
      });
      state = changed;
      changes.push(...patches);
    },
    replace: (next) => {
      state = freeze(next, true);
    },
    changesSince: () => {
      const from = changes.length;
      return () => changes.slice(from);
    },
    apply: (patches) => {
      state = applyPatches(state, patches);
    },
  };
};
