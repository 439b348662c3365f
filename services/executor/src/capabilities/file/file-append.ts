import { errorBody } from '@holdpoint/contracts/values/errors';
import { FilePath } from '@holdpoint/contracts/effect/file-write';
import { z } from 'zod';
import type { AppendLine } from '../../adapters/files/keyed-file.ts';
import { type Capability, CleanFailure } from '../../ports/capability.ts';

const Input = z.object({
  file: FilePath,
  line: z
    .string()
    .max(65_536)
    .refine((line) => !/[\r\n\0]/.test(line), 'one line, without a line end'),
});

/**
 * Appends one line to a file in the workspace. The file remembers the key of every line: it stands at the start of
 * the line, before a tab.
 */
export const fileAppend = (appendTo: (file: string) => Promise<AppendLine>): Capability<typeof Input> => ({
  uses: 'cap.file.append',
  input: Input,
  run: async ({ file, line }, { effectId, assertInForce, signal }) => {
    if (signal.aborted) throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
    const append = await appendTo(file);
    const { repeated } = await append({ key: effectId, line, assertInForce });
    return { file, key: effectId, repeated };
  },
});
