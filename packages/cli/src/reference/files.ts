import { createProgram } from '../program.ts';
import { commandReference, errorReference } from './markdown.ts';

const silent = {
  connect: () => Promise.reject(new Error('nothing is asked')),
  out: () => undefined,
  err: () => undefined,
  now: () => 0,
} as const;

/** Every generated document: path from the root of the repository, and content. */
export const referenceFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/cli.md', commandReference(createProgram(silent, []).program)],
    ['docs/reference/errors.md', errorReference()],
  ]);
