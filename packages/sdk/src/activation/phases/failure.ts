import { type ErrorBody, HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import type { PhaseFailure } from '@holdpoint/contracts/program/work';

export type Stage = PhaseFailure['stage'];

/** Something in a part of a phase went wrong. */
export class StageError extends Error {
  override readonly name = 'StageError';
  readonly stage: Stage;

  constructor(stage: Stage, cause: unknown) {
    super(`${stage} failed`, { cause });
    this.stage = stage;
  }
}

/** Names the part of the phase that what is thrown inside belongs to. */
export const inStage = async <Value>(stage: Stage, body: () => Value | Promise<Value>): Promise<Value> => {
  try {
    return await body();
  } catch (error) {
    throw error instanceof StageError ? error : new StageError(stage, error);
  }
};

const MESSAGE_MAX = 2_000;

const shown = (text: string): string => text.replaceAll('\0', '').slice(0, MESSAGE_MAX).toWellFormed();

/** What cannot be turned into a text at all has been thrown as well. */
const textOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message || error.name : String(error);
  } catch {
    return 'something that cannot be shown was thrown';
  }
};

/** An error as it is recorded: the text of it, never its stack, which tells of the machine that it happened on. */
export const failureOf = (error: unknown): ErrorBody => {
  if (!(error instanceof HoldpointError))
    return { code: 'PROGRAM_PHASE_FAILED', message: shown(textOf(error)) };
  const body = toErrorBody(error);
  return { ...body, message: shown(body.message) };
};
