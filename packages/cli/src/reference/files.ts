import { createProgram } from '../program.ts';
import { httpReference } from './http.ts';
import { commandReference, errorReference } from './markdown.ts';

const silent = {
  connect: () => Promise.reject(new Error('unused')),
  out: () => undefined,
  err: () => undefined,
  now: () => 0,
} as const;

/** Every generated document: path from the repository root, and content. */
export const referenceFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/cli.md', commandReference(createProgram(silent, []).program)],
    ['docs/reference/errors.md', errorReference()],
    ['docs/reference/http-api.md', httpReference()],
  ]);
