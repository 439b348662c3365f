import { type ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { originOf } from '@holdpoint/contracts/effect/http-request';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { type EffectEnd, ProgramEffect } from '@holdpoint/contracts/program/recording';
import { z } from 'zod';
import type { EffectRequest } from '../../definition/context.ts';
import { toJson } from './json-value.ts';

/** People have refused an effect, or nobody has approved it in time. Its code is `ERR_FORBIDDEN`. */
export class EffectRejected extends HoldpointError {
  override readonly name = 'EffectRejected';
  constructor(message: string, details?: ErrorBody['details']) {
    super('ERR_FORBIDDEN', message, { ...(details && { details }) });
  }
}

/** An effect did not happen: it failed, or was cancelled. It has the code of what went wrong. */
export class EffectFailed extends HoldpointError {
  override readonly name = 'EffectFailed';
}

const TARGET_MAX = 512;

const targetOf = ({ capability, args }: EffectRequest<unknown>): string => {
  const { url } = args;
  if (typeof url !== 'string') return capability;
  try {
    return originOf(url).slice(0, TARGET_MAX);
  } catch {
    // What is wrong with the URL is said by whoever checks the arguments.
    return capability;
  }
};

/** An effect as it is recorded. Throws `HoldpointError` (`CONTRACT_INVALID`) with what is wrong with it. */
export const programEffect = (request: EffectRequest<unknown>): ProgramEffect => {
  const { capability, args, target = targetOf(request), result: _, ...rest } = request;
  const asked = { ...rest, uses: capability, args, target };
  const plain = toJson(asked, { code: 'CONTRACT_INVALID', what: 'effect', lenient: true });
  const { success, data, error } = ProgramEffect.safeParse(plain);
  if (success) return data;
  throw new HoldpointError('CONTRACT_INVALID', `the effect cannot be asked for: ${z.prettifyError(error)}`);
};

/** What an effect gave. Throws `EffectRejected`, `EffectFailed`, or what the schema of the result says. */
export const effectResult = (ended: EffectEnd, { result }: EffectRequest<unknown>): unknown => {
  const { outcome, outputs = {}, error } = ended;
  switch (outcome) {
    case 'succeeded':
      return result === undefined ? (outputs satisfies JsonObject) : parseResult(result, outputs);
    case 'blocked':
      throw new EffectRejected(error?.message ?? 'it was not approved', error?.details);
    case 'failed':
    case 'cancelled': {
      const code = (error?.code ?? (outcome === 'failed' ? 'NODE_FAILED' : 'NODE_CANCELLED')) as ErrorCode;
      const { message = 'the effect did not happen', details } = error ?? {};
      throw new EffectFailed(code, message, { ...(details && { details }) });
    }
  }
};

const parseResult = (schema: z.ZodType, outputs: JsonObject): unknown => {
  const { success, data, error } = schema.safeParse(outputs);
  if (success) return data;
  throw new HoldpointError(
    'PROGRAM_OUTPUT_INVALID',
    `what the effect gave does not fit its schema: ${z.prettifyError(error)}`,
  );
};
