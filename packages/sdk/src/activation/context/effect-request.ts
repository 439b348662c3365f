import { type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { placeOf } from '@holdpoint/contracts/effect/describe';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { type EffectEnd, ProgramEffect } from '@holdpoint/contracts/program/recording';
import { z } from 'zod';
import type { EffectRequest } from '../../definition/context.ts';
import { EffectFailed, EffectRejected } from '../../remote/effect-errors.ts';
import { toJson } from './json-value.ts';

/** The target that the arguments name, else the capability. */
const targetOf = ({ capability: uses, args, kind }: EffectRequest<unknown>): string =>
  placeOf({ uses, args, kind, effectClass: 'opaque', target: uses }).target;

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
      throw new EffectRejected(error?.message ?? 'the effect was not approved', error?.details, error?.code);
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
