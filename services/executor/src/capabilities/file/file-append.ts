import { errorBody } from '@holdpoint/contracts/values/errors';
import { FileAppend } from '@holdpoint/contracts/effect/file-write';
import type { AppendLine } from '../../adapters/files/keyed-file.ts';
import { type Capability, CleanFailure } from '../../ports/capability.ts';

/**
 * Appends one line to a file in the workspace. The file remembers the key of every line: it stands at the start of
 * the line, before a tab.
 */
export const fileAppend = (
  appendTo: (file: string) => Promise<AppendLine>,
): Capability<typeof FileAppend> => ({
  uses: 'cap.file.append',
  input: FileAppend,
  run: async ({ file, line }, { effectId, assertInForce, signal }) => {
    if (signal.aborted) throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
    const append = await appendTo(file);
    const { repeated } = await append({ key: effectId, line, assertInForce });
    return { file, key: effectId, repeated };
  },
});
