import type { z } from 'zod';
import { compiled } from '../values/compiled.ts';
import { type JsonObject, tableIn } from '../values/json.ts';
import { FileAppend, FileWrite } from './file-write.ts';
import { HttpIdempotentRequest, HttpRequest } from './http-request.ts';
import { NotifyDiscord, NotifySlack, NotifyWebhook } from './notify.ts';

/** Schemas of the arguments that mean the same on every executor. */
const ARGUMENTS: Readonly<Record<string, z.ZodType>> = {
  'cap.file.append': FileAppend,
  'cap.file.write': FileWrite,
  'cap.http.request': HttpRequest,
  'cap.http.keyed_request': HttpRequest,
  'cap.http.idempotent_request': HttpIdempotentRequest,
  'cap.notify.webhook': NotifyWebhook,
  'cap.notify.discord': NotifyDiscord,
  'cap.notify.slack': NotifySlack,
};
for (const schema of new Set(Object.values(ARGUMENTS))) compiled(schema);

const SCRIPTS = /^cap\.env\.shell\.[a-z0-9_.]+\.compensate$/;

/** A wrong argument: its path inside the arguments, and the accepted values. */
export type ArgumentProblem = { readonly path: readonly string[]; readonly expected: string };

const isMissing = (args: unknown, path: readonly PropertyKey[]): boolean => {
  let value: unknown = args;
  for (const key of path)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined;
  return value === undefined;
};

const noUndoScript = (args: JsonObject): readonly ArgumentProblem[] => {
  const script = tableIn(tableIn(args, 'args'), 'with')['compensate'];
  return typeof script === 'string' && script.trim() !== ''
    ? []
    : [
        {
          path: ['args', 'with', 'compensate'],
          expected: 'a script that undoes the effect, declared before it ran: undo it by hand',
        },
      ];
};

/** Wrong arguments that every executor refuses. Empty for capabilities that only an executor knows. */
export const argumentProblems = (uses: string, args: JsonObject): readonly ArgumentProblem[] => {
  if (SCRIPTS.test(uses)) return noUndoScript(args);
  const schema = Object.hasOwn(ARGUMENTS, uses) ? ARGUMENTS[uses] : undefined;
  const { error } = schema?.safeParse(args) ?? {};
  return (error?.issues ?? []).map(({ path, message }) => ({
    path: path.map(String),
    expected: isMissing(args, path) ? 'a value' : message.replace(/^Invalid input: expected (\w+).*$/, '$1'),
  }));
};
