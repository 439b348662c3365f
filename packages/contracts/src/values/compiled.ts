import { z } from 'zod';

/**
 * The schema of a message that every task needs, compiled to one function at its first use. That takes some milliseconds, and
 * halves the time of each later use. Invalid values get their errors from the schema itself.
 */
export const compiled = <Schema extends z.ZodType>(schema: Schema): Schema => {
  const { _zod: parser } = schema;
  const plain = parser.run.bind(parser);
  parser.run = (payload, context) => {
    parser.run = plain;
    const { _zod: fast } = z.compile(schema);
    parser.run = fast.run.bind(fast);
    return parser.run(payload, context);
  };
  return schema;
};
