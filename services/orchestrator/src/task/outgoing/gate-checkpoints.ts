import { CHECKPOINT_PAYLOAD_MAX } from '@holdpoint/contracts/task/status';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { GateCheckpoint } from '@holdpoint/contracts/workflow/gate';
import { ExpressionError } from '@holdpoint/workflows/expression/expression';
import { filledIn, gateText } from './gate-inputs.ts';

/** A checkpoint that a gate records, with its texts rendered. */
export type CheckpointNote = {
  readonly name: string;
  readonly reason: string;
  readonly payload?: JsonObject;
};

const payloadIn = (written: Readonly<Record<string, Json>>, scope: JsonObject): JsonObject => {
  const payload = Object.fromEntries(
    Object.entries(written).map(([key, value]): [string, Json] => [key, filledIn(value, () => scope)]),
  );
  if (JSON.stringify(payload).length > CHECKPOINT_PAYLOAD_MAX)
    throw new ExpressionError(
      `the payload of a checkpoint exceeds ${String(CHECKPOINT_PAYLOAD_MAX)} characters`,
    );
  return payload;
};

/** Renders the checkpoints of a gate. Throws `ExpressionError`. */
export const checkpointNotes = (
  checkpoints: readonly GateCheckpoint[],
  scope: JsonObject,
): readonly CheckpointNote[] =>
  checkpoints.map(({ checkpoint: name, note, payload }) => ({
    name,
    reason: note === undefined ? name : `${name}: ${gateText(note, scope)}`,
    ...(payload && { payload: payloadIn(payload, scope) }),
  }));
