import { join } from 'node:path';
import { z } from 'zod';

const BUILT = join(import.meta.dirname, '../../../../../packages/console/dist');

export const ConsoleEnv = z.object({
  HOLDPOINT_CONSOLE_FOLDER: z
    .string()
    .default('')
    .transform((folder) => (folder === '' ? BUILT : folder))
    .describe(
      'The folder of the built page of the [console](../console.md), `packages/console/dist` when left out; everything else works without it',
    ),
});
export type ConsoleSettings = z.infer<typeof ConsoleEnv>;
