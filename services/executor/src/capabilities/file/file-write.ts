import { errorBody } from '@holdpoint/contracts/values/errors';
import { contentOf, FileWrite } from '@holdpoint/contracts/effect/file-write';
import { type JsonObject, sha256Of } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import { contentAt, type FileContent, removeWhole, replaceWhole } from '../../adapters/files/whole-file.ts';
import type { Workspace } from '../../adapters/files/workspace.ts';
import { type Capability, CleanFailure, type EffectContext } from '../../ports/capability.ts';
import { showChange } from './show-change.ts';

/** Outputs of a write; `before` is the SHA-256 of the replaced content, or null. */
const Outputs = z.object({
  file: z.string(),
  sha256: z.string(),
  before: z.string().nullable(),
  bytes: z.int(),
  /** False when the content was there already. */
  written: z.boolean(),
});

const notCancelled = ({ signal }: EffectContext): void => {
  if (signal.aborted) throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
};

const refused = (message: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', message));

/** The expected `before`; undefined when any content is accepted. */
const expectedBy = ({ expect, preview }: FileWrite): string | null | undefined => {
  if (expect !== undefined) return expect === 'absent' ? null : expect;
  return preview === undefined ? undefined : (preview.before?.sha256 ?? null);
};

/** Throws `CleanFailure` when the present file is not the expected one. */
const assertExpected = (input: FileWrite, held: FileContent | undefined): void => {
  const expected = expectedBy(input);
  if (expected === undefined || expected === (held?.sha256 ?? null)) return;
  throw refused(held === undefined ? 'The file does not exist' : 'The file has other content than expected');
};

/** The replaced content, for a write that finds its work done by an earlier start. */
const beforeOf = (input: FileWrite, found: string, epoch: number): string | null => {
  const expected = expectedBy(input);
  return epoch > 1 && expected !== undefined ? expected : found;
};

/**
 * Writes a whole file in the workspace. The expected content fences it: a second start finds its own content and is
 * done, or finds the content of another writer and leaves it.
 */
export const fileWrite = (workspace: Pick<Workspace, 'place'>): Capability<typeof FileWrite> => ({
  uses: 'cap.file.write',
  input: FileWrite,
  preview: async (input, context) => {
    notCancelled(context);
    const held = await contentAt(await workspace.place(input.file, { make: false }));
    const bytes = Buffer.from(contentOf(input));
    if (held?.sha256 !== sha256Of(bytes)) assertExpected(input, held);
    return showChange(input.file, held, bytes);
  },
  run: async (input, context) => {
    const { effectId, epoch, assertInForce } = context;
    notCancelled(context);
    const bytes = contentOf(input);
    const sha256 = sha256Of(bytes);
    const path = await workspace.place(input.file, { make: true });
    const { before, written } = await replaceWhole({
      path,
      bytes,
      meanwhile: `.holdpoint-${effectId}`,
      ...(input.mode !== undefined && { mode: Number.parseInt(input.mode, 8) }),
      mayReplace: (held) => {
        if (held?.sha256 === sha256) return false;
        assertExpected(input, held);
        return true;
      },
      assertInForce,
    });
    const found = before?.sha256 ?? null;
    return {
      file: input.file,
      sha256,
      before: written ? found : beforeOf(input, sha256, epoch),
      bytes: bytes.length,
      written,
    };
  },
  probe: async (input, { epoch }) => {
    const bytes = contentOf(input);
    const sha256 = sha256Of(bytes);
    const held = await contentAt(await workspace.place(input.file, { make: false }));
    if (held?.sha256 === sha256) {
      const before = beforeOf(input, sha256, epoch);
      const outputs: JsonObject = { file: input.file, sha256, before, bytes: bytes.length, written: false };
      return { found: 'applied', reason: 'the file has the new content', outputs };
    }
    const expected = expectedBy(input);
    if (expected !== undefined && expected === (held?.sha256 ?? null))
      return { found: 'not_applied', reason: 'the file is as it was before' };
    return {
      found: 'unknown',
      reason: 'the file has neither the new nor the expected content',
    };
  },
  compensate: async ({ input: { file }, outputs }, context) => {
    notCancelled(context);
    const done = Outputs.safeParse(outputs).data;
    if (done === undefined || done.before !== null)
      throw refused('The replaced content was not kept, so it cannot be restored');
    const path = await workspace.place(file, { make: false });
    return { file, removed: await removeWhole(path, done.sha256, context.assertInForce) };
  },
});
