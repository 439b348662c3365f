import { join } from 'node:path';
import { z } from 'zod';

/** Where the page lies that is built of `packages/console`. */
const BUILT = join(import.meta.dirname, '../../../../../packages/console/dist');

export const ConsoleEnv = z.object({
  /** The folder of the built page. */
  HOLDPOINT_CONSOLE_FOLDER: z
    .string()
    .default('')
    .transform((folder) => (folder === '' ? BUILT : folder)),
});
export type ConsoleSettings = z.infer<typeof ConsoleEnv>;
