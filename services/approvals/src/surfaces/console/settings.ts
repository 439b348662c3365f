import { join } from 'node:path';
import { ADVANCED } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

const BUILT = join(import.meta.dirname, '../../../../../packages/console/dist');

export const ConsoleEnv = z.object({
  HOLDPOINT_CONSOLE_DIR: z
    .string()
    .default('')
    .transform((folder) => (folder === '' ? BUILT : folder))
    .describe(
      'Folder of the built [console](../console.md) page; default `packages/console/dist`. The service works without it',
    )
    .meta(ADVANCED),
});
export type ConsoleSettings = z.infer<typeof ConsoleEnv>;
