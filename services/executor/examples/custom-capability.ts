// One capability of one's own: a flag that is a file in a folder which other programs watch.
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
  // Whoever reads the flag sees whether it was set: after an interruption it is looked at, not set again.
  effectClass: 'probeable',
  kind: 'deploy',
  input: Flag,
  // Shown before anything is done, as work of its own: `cap.custom.set_flag.preview`.
  preview: async (flag) => ({ before: (await read(flag)) ?? null, after: flag.value }),
  run: async (flag, { assertInForce }) => {
    const before = await read(flag);
    if (before === flag.value) throw nothingHappened(`${flag.name} is ${flag.value} already`);
    await mkdir(flag.folder, { recursive: true });
    // Right before something leaves: an executor that was stopped for too long does nothing any more.
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
    if (before === undefined) throw nothingHappened(`nobody knows what ${input.name} was before`);
    assertInForce();
    if (typeof before === 'string') await writeFile(fileOf(input), before);
    else await rm(fileOf(input), { force: true });
    return { value: before };
  },
});

export const capabilities = [setFlag];
