import { type JsonObject, sha256Of } from '@holdpoint/contracts/values/json';
import { createTwoFilesPatch } from 'diff';

type FileContent = { readonly bytes: Buffer; readonly sha256: string };

/** A longer diff is not readable: sizes and digests are shown instead. */
const DIFF_MAX_CHARACTERS = 32_768;
const DIFF_MAX_LINES_CHANGED = 1_000;
const DIFF_WITHIN_MS = 500;
const CONTEXT_LINES = 3;

const textOf = (bytes: Buffer): string | undefined => {
  const text = bytes.toString('utf8');
  return text.includes('\0') || !Buffer.from(text).equals(bytes) ? undefined : text;
};

const diffOf = (file: string, before: Buffer, after: Buffer): string | undefined => {
  const [old, now] = [textOf(before), textOf(after)];
  if (old === undefined || now === undefined) return undefined;
  const diff = createTwoFilesPatch(file, file, old, now, undefined, undefined, {
    context: CONTEXT_LINES,
    maxEditLength: DIFF_MAX_LINES_CHANGED,
    timeout: DIFF_WITHIN_MS,
  });
  return diff === undefined || diff.length > DIFF_MAX_CHARACTERS ? undefined : diff;
};

/**
 * Shows the change of a write. `already`: there is nothing to do. `diff` is left out for binary files, and when it
 * is too long.
 */
export const showChange = (file: string, held: FileContent | undefined, after: Buffer): JsonObject => {
  const sha256 = sha256Of(after);
  const diff = diffOf(file, held?.bytes ?? Buffer.alloc(0), after);
  return {
    file,
    before: held === undefined ? null : { sha256: held.sha256, bytes: held.bytes.length },
    after: { sha256, bytes: after.length },
    already: held?.sha256 === sha256,
    ...(diff !== undefined && { diff }),
  };
};
