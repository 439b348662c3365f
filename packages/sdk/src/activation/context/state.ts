import { applyPatches, enablePatches, freeze, type Patch, produceWithPatches } from 'immer';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { AnyState } from '../../definition/phase.ts';
import { STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import { z } from 'zod';
import { jsonBytes, toJson } from './json-value.ts';

enablePatches();

const INVALID = 'PROGRAM_STATE_INVALID';

/** A state as it is stored. Throws `HoldpointError`: `PROGRAM_STATE_INVALID`, `PROGRAM_STATE_TOO_LARGE`. */
export const checkState = (schema: z.ZodObject, state: unknown): JsonObject => {
  // What a schema would turn into something else is found before it does.
  const plain = toJson(state, { code: INVALID, what: 'state', lenient: true });
  const { success, data, error } = schema.safeParse(plain);
  if (!success)
    throw new HoldpointError(INVALID, `the state does not fit its schema: ${z.prettifyError(error)}`);
  const checked = toJson(data, { code: INVALID, what: 'state', lenient: true }) as JsonObject;
  const bytes = jsonBytes(checked);
  if (bytes <= STATE_MAX_BYTES) return checked;
  throw new HoldpointError(
    'PROGRAM_STATE_TOO_LARGE',
    `the state has ${String(bytes)} bytes, at most ${String(STATE_MAX_BYTES)} are kept: keep what is large as an artifact`,
  );
};

const isPromise = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** The state while a phase is at work: changed by drafts alone. */
export type StateHolder = {
  readonly current: () => AnyState;
  readonly update: (recipe: (draft: AnyState) => unknown) => void;
  readonly replace: (state: AnyState) => void;
  /** Everything that was changed since this was asked for. */
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
        // A draft does not outlive its function: what is changed later would be lost.
        if (isPromise(recipe(draft)))
          throw new TypeError('the state is changed at once, not by an async function');
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
