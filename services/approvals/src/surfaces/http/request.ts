import type { HttpRoute } from '@holdpoint/contracts/catalog/http-api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Context } from 'hono';
import type { z } from 'zod';
import type { Env } from './api.ts';
import { readBody } from './body.ts';
import { fieldsOf } from './query.ts';

/**
 * A request by its contract: the fields of the path, and of the query or the body. A field that contradicts the path is an
 * error.
 */
export const requestOf = async <Schema extends z.ZodType>(
  { method }: Pick<HttpRoute, 'method'>,
  schema: Schema,
  { req }: Context<Env>,
): Promise<z.output<Schema>> => {
  const fields =
    method === 'POST' ? await readBody(req.raw) : fieldsOf(schema, new URL(req.url).searchParams);
  const named = req.param();
  for (const [name, value] of Object.entries(named))
    if (Object.hasOwn(fields, name) && fields[name] !== value)
      throw new HoldpointError('CONTRACT_INVALID', `${name}: differs from the path`);
  return parseAs(schema, { ...fields, ...named });
};
