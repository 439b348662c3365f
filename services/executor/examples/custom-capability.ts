// A custom capability: a feature flag, stored as a file in a folder that other processes watch.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineCapability, nothingHappened } from '@holdpoint/executor/capabilities/define';
import { z } from 'zod';

const Flag = z.object({
  folder: z.string().startsWith('/'),
  name: z.string().regex(/^[a-z0-9-]{1,64}$/),
  value: z.enum(['on', 'off']),
});
type Flag = z.infer<typeof Flag>;

const fileOf = ({ folder, name }: Flag): string => join(folder, `${name}.flag`);

const read = async (flag: Flag): Promise<string | undefined> => {
  try {
    return await readFile(fileOf(flag), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

const setFlag = defineCapability({
  uses: 'cap.custom.set_flag',
  // The flag can be read: after an interruption it is probed, not set again.
  effectClass: 'probeable',
  kind: 'deploy',
  input: Flag,
  // Where the node says `previews = true`: ordered as work, before the approval.
  preview: async (flag) => ({ before: (await read(flag)) ?? null, after: flag.value }),
  run: async (flag, { assertInForce }) => {
    const before = await read(flag);
    if (before === flag.value) throw nothingHappened(`${flag.name} is already ${flag.value}`);
    await mkdir(flag.folder, { recursive: true });
    // Right before the write: an executor that was frozen for too long must not act.
    assertInForce();
    await writeFile(fileOf(flag), flag.value);
    return { before: before ?? null };
  },
  probe: async (flag) => {
    const value = await read(flag);
    return value === flag.value
      ? { found: 'applied', reason: `${flag.name} is ${flag.value}`, outputs: {} }
      : { found: 'not_applied', reason: `${flag.name} is ${value ?? 'not set'}` };
  },
  // Ordered by `holdpoint effect undo <effect>`, and approved like any other effect.
  compensate: async ({ input, outputs }, { assertInForce }) => {
    const { before } = outputs;
    if (before === undefined) throw nothingHappened(`the earlier value of ${input.name} is unknown`);
    assertInForce();
    if (typeof before === 'string') await writeFile(fileOf(input), before);
    else await rm(fileOf(input), { force: true });
    return { value: before };
  },
});

export const capabilities = [setFlag];
