import { errorBody } from '@holdpoint/contracts/values/errors';
import { contentOf, FileWrite } from '@holdpoint/contracts/effect/file-write';
import { type JsonObject, sha256Of } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import { heldAt, type Held, removeWhole, replaceWhole } from '../../adapters/files/whole-file.ts';
import type { Workspace } from '../../adapters/files/workspace.ts';
import { type Capability, CleanFailure, type EffectContext } from '../../ports/capability.ts';
import { showChange } from './show-change.ts';

/** What a write gives; `before` is the SHA-256 of what was there, or null for nothing. */
const Outputs = z.object({
  file: z.string(),
  sha256: z.string(),
  before: z.string().nullable(),
  bytes: z.int(),
  /** False when it was there already. */
  written: z.boolean(),
});

const notCancelled = ({ signal }: EffectContext): void => {
  if (signal.aborted) throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
};

const refused = (message: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', message));

/** What has to be there, in the words of the outputs; undefined for whatever there is. */
const expectedBy = ({ expect, preview }: FileWrite): string | null | undefined => {
  if (expect !== undefined) return expect === 'absent' ? null : expect;
  return preview === undefined ? undefined : (preview.before?.sha256 ?? null);
};

/** Throws `CleanFailure` when the file is none that was expected. */
const assertExpected = (input: FileWrite, held: Held | undefined): void => {
  const expected = expectedBy(input);
  if (expected === undefined || expected === (held?.sha256 ?? null)) return;
  throw refused(held === undefined ? 'no file is there' : 'another file is there than was expected');
};

/** What was there before a write that finds its work done: a start before this one found what was expected. */
const beforeOf = (input: FileWrite, found: string, epoch: number): string | null => {
  const expected = expectedBy(input);
  return epoch > 1 && expected !== undefined ? expected : found;
};

/**
 * Puts a whole file into the workspace. What it has to find there is what fences it: a second start finds its own content,
 * and is done, or something that somebody else has put there, which it leaves alone.
 */
export const fileWrite = (workspace: Pick<Workspace, 'place'>): Capability<typeof FileWrite> => ({
  uses: 'cap.file.write',
  input: FileWrite,
  preview: async (input, context) => {
    notCancelled(context);
    const held = await heldAt(await workspace.place(input.file, { make: false }));
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
    const held = await heldAt(await workspace.place(input.file, { make: false }));
    if (held?.sha256 === sha256) {
      const before = beforeOf(input, sha256, epoch);
      const outputs: JsonObject = { file: input.file, sha256, before, bytes: bytes.length, written: false };
      return { found: 'applied', reason: 'the file holds what was to be written', outputs };
    }
    const expected = expectedBy(input);
    if (expected !== undefined && expected === (held?.sha256 ?? null))
      return { found: 'not_applied', reason: 'the file is as it was before' };
    return {
      found: 'unknown',
      reason: 'the file holds neither what was to be written nor what was expected',
    };
  },
  compensate: async ({ input: { file }, outputs }, context) => {
    notCancelled(context);
    const done = Outputs.safeParse(outputs).data;
    if (done === undefined || done.before !== null)
      throw refused('what was there before is not kept, and cannot be put back');
    const path = await workspace.place(file, { make: false });
    return { file, removed: await removeWhole(path, done.sha256, context.assertInForce) };
  },
});
