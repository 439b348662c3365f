import { type ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { originOf } from '@holdpoint/contracts/effect/http-request';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { type EffectEnd, ProgramEffect } from '@holdpoint/contracts/program/recording';
import { z } from 'zod';
import type { EffectRequest } from '../../definition/context.ts';
import { toJson } from './json-value.ts';

/** An approver rejected the effect, or the request expired. Its code is `ERR_FORBIDDEN`. */
export class EffectRejected extends HoldpointError {
  override readonly name = 'EffectRejected';
  constructor(message: string, details?: ErrorBody['details']) {
    super('ERR_FORBIDDEN', message, { ...(details && { details }) });
  }
}

/** The effect failed or was cancelled. Its code is that of the failure. */
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
    // The check of the arguments reports a bad URL.
    return capability;
  }
};

/** The recorded form of an effect. Throws `CONTRACT_INVALID` with the problems. */
export const programEffect = (request: EffectRequest<unknown>): ProgramEffect => {
  const { capability, args, target = targetOf(request), result: _, ...rest } = request;
  const asked = { ...rest, uses: capability, args, target };
  const plain = toJson(asked, { code: 'CONTRACT_INVALID', what: 'effect', lenient: true });
  const { success, data, error } = ProgramEffect.safeParse(plain);
  if (success) return data;
  throw new HoldpointError('CONTRACT_INVALID', `invalid effect: ${z.prettifyError(error)}`);
};

/** The outputs of an effect. Throws `EffectRejected`, `EffectFailed`, or the error of the result schema. */
export const effectResult = (ended: EffectEnd, { result }: EffectRequest<unknown>): unknown => {
  const { outcome, outputs = {}, error } = ended;
  switch (outcome) {
    case 'succeeded':
      return result === undefined ? (outputs satisfies JsonObject) : parseResult(result, outputs);
    case 'blocked':
      throw new EffectRejected(error?.message ?? 'the effect was not approved', error?.details);
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
    `the outputs of the effect do not fit the schema: ${z.prettifyError(error)}`,
  );
};
