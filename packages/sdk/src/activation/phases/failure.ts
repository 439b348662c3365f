import { type ErrorBody, HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import type { PhaseFailure } from '@holdpoint/contracts/program/work';

export type Stage = PhaseFailure['stage'];

/** An error in one part of a phase. */
export class StageError extends Error {
  override readonly name = 'StageError';
  readonly stage: Stage;

  constructor(stage: Stage, cause: unknown) {
    super(`${stage} failed`, { cause });
    this.stage = stage;
  }
}

/** Assigns errors inside to a part of the phase. */
export const inStage = async <Value>(stage: Stage, body: () => Value | Promise<Value>): Promise<Value> => {
  try {
    return await body();
  } catch (error) {
    throw error instanceof StageError ? error : new StageError(stage, error);
  }
};

const MESSAGE_MAX = 2_000;

const shown = (text: string): string => text.replaceAll('\0', '').slice(0, MESSAGE_MAX).toWellFormed();

/** A thrown value may not even be convertible to text. */
const textOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message || error.name : String(error);
  } catch {
    return 'the thrown value cannot be shown as text';
  }
};

/** The recorded form of an error: its text without its stack, which would expose the machine. */
export const failureOf = (error: unknown): ErrorBody => {
  if (!(error instanceof HoldpointError))
    return { code: 'PROGRAM_PHASE_FAILED', message: shown(textOf(error)) };
  const body = toErrorBody(error);
  return { ...body, message: shown(body.message) };
};
