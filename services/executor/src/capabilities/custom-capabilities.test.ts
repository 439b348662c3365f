import { execFile } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { capabilities as example } from '../../examples/custom-capability.ts';
import { createHandlerRegistry } from '../ports/handler-registry.ts';
import { contextFor } from '../../testing/context.ts';
import { scratchFolder } from '../../testing/scratch.ts';
import { customCapabilitiesIn } from './custom-capabilities.ts';

let folder: Awaited<ReturnType<typeof scratchFolder>>;
let workspace: string;
beforeEach(async () => {
  folder = await scratchFolder();
  workspace = join(folder.path, 'workspace');
  await mkdir(workspace);
});
afterEach(() => folder.remove());

const good = {
  uses: 'cap.custom.wave',
  effectClass: 'idempotent',
  input: z.object({}),
  run: () => Promise.resolve({ waved: true }),
};
const refusalOf = (...capabilities: readonly unknown[]): string => {
  try {
    customCapabilitiesIn({ capabilities }, '/srv/wave.ts');
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('not refused');
};

describe('a module with custom capabilities', () => {
  test('a valid module is accepted', () => {
    expect(customCapabilitiesIn({ capabilities: [good] }, '/srv/wave.ts').map(({ uses }) => uses)).toEqual([
      good.uses,
    ]);
    expect(customCapabilitiesIn({ capabilities: example }, '/srv/flag.ts')).toHaveLength(1);
  });

  test.each([
    ['another label', { uses: 'cap.http.request' }, 'capabilities[0].uses: cap.custom.<name>'],
    [
      'the label of a preview',
      { uses: 'cap.custom.wave.preview' },
      'capabilities[0].uses: cap.custom.<name>',
    ],
    ['capital letters in its label', { uses: 'cap.custom.Wave' }, 'capabilities[0].uses: cap.custom.<name>'],
    ['a label too long for a compensation', { uses: `cap.custom.${'w'.repeat(110)}` }, 'cap.custom.<name>'],
    ['no class', { effectClass: undefined }, 'capabilities[0].effectClass'],
    ['an unknown class', { effectClass: 'safe' }, 'capabilities[0].effectClass'],
    ['a probeable class without a probe', { effectClass: 'probeable' }, 'capabilities[0].probe: missing'],
    [
      'an opaque class with a probe',
      { effectClass: 'opaque', probe: () => undefined },
      'capabilities[0].effectClass: an opaque capability',
    ],
    ['no run', { run: undefined }, 'capabilities[0].run: a function'],
    ['no schema', { input: {} }, 'capabilities[0].input: expected a zod schema'],
    ['a misspelled method', { compensat: () => undefined }, 'Unrecognized key: "compensat"'],
    ['an unknown kind', { kind: 'launch' }, 'capabilities[0].kind'],
    ['an invalid work', { work: false }, 'capabilities[0].work: expected true, or leave it out'],
  ])('a module is refused with %s', (_, change, said) => {
    const message = refusalOf({ ...good, ...change });
    expect(message).toContain('HOLDPOINT_CAPABILITIES: /srv/wave.ts: ');
    expect(message).toContain(said);
  });

  test('a refusal names all problems of a module at once', () => {
    const message = refusalOf({ ...good, uses: 'wave' }, 'wave', { ...good, effectClass: 'safe' });
    for (const at of [0, 1, 2]) expect(message).toContain(`capabilities[${String(at)}]`);
  });

  test.each([[undefined], [{}], [{ capabilities: good }], [{ capabilities: [] }], [null]])(
    'a module that exports %j is refused',
    (exported) =>
      expect(() => customCapabilitiesIn(exported, '/srv/wave.ts')).toThrow(/^HOLDPOINT_CAPABILITIES: \/srv/),
  );

  test('outputs that are not JSON are left out, and the effect counts as applied', async () => {
    const lines: string[] = [];
    const context = contextFor({ say: (_, line) => void lines.push(line) });
    const giving = (outputs: unknown) =>
      customCapabilitiesIn({ capabilities: [{ ...good, run: () => Promise.resolve(outputs) }] }, '/srv')[0];
    expect(await giving(undefined)?.run({}, context)).toEqual({});
    expect(lines).toEqual([]);
    expect(await giving({ at: new Date() })?.run({}, context)).toEqual({});
    expect(lines).toEqual(['cap.custom.wave returned outputs that are not a JSON object; they are left out']);
  });
});

describe('the documented example', () => {
  const flag = () => ({ folder: join(folder.path, 'flags'), name: 'sale', value: 'on' });
  const registry = createHandlerRegistry(example);
  const named = (uses: string) => {
    const found = registry.get(uses);
    if (found === undefined) throw new Error(`nothing is called ${uses}`);
    return found;
  };
  const SET = 'cap.custom.set_flag';

  test('the example previews, runs, probes and undoes its effect', async () => {
    const context = contextFor();
    expect(await named(`${SET}.preview`).run(flag(), context)).toEqual({ before: null, after: 'on' });
    expect(await named(SET).probe?.(flag(), context)).toMatchObject({ found: 'not_applied' });
    const outputs = await named(SET).run(flag(), context);
    expect(await named(SET).probe?.(flag(), context)).toMatchObject({ found: 'applied' });
    await expect(named(SET).run(flag(), context)).rejects.toMatchObject({ name: 'CleanFailure' });
    await named(`${SET}.compensate`).run({ effect: 'e-1', args: flag(), outputs }, context);
    expect(await named(SET).probe?.(flag(), context)).toMatchObject({ found: 'not_applied' });
  });
});

/** In a process of its own, where only Node resolves imports, as in an executor. */
const load = async (...paths: readonly string[]): Promise<string> => {
  const script = `
    const { loadCustom } = await import(process.argv[1]);
    const [workspace, ...paths] = process.argv.slice(2);
    try {
      console.log((await loadCustom(paths, workspace)).map(({ uses }) => uses).join(' '));
    } catch (error) {
      console.log(error.message);
    }`;
  const loader = join(import.meta.dirname, 'custom-capabilities.ts');
  const argv = ['--input-type=module', '--eval', script, loader, workspace, ...paths];
  return (await promisify(execFile)(process.execPath, argv)).stdout.trim();
};

describe('loading custom capabilities', () => {
  const EXAMPLE = join(import.meta.dirname, '../../examples/custom-capability.ts');
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const minimal = (name: string): string =>
    `import { z } from 'zod';
     export const capabilities = [
       { uses: 'cap.custom.${name}', effectClass: 'opaque', input: z.object({}), run: async () => ({}) },
     ];`;

  test('an executor loads the example from any folder', async () => {
    const copy = join(folder.path, 'flag.ts');
    await copyFile(EXAMPLE, copy);
    expect(await load(copy, await write('wave.mjs', minimal('wave')))).toBe(
      'cap.custom.set_flag cap.custom.wave',
    );
  });

  test('an executor refuses two capabilities with the same label', async () => {
    const [one, two] = [await write('a.mjs', minimal('wave')), await write('b.mjs', minimal('wave'))];
    expect(await load(one, two)).toBe(
      `HOLDPOINT_CAPABILITIES: ${two}: cap.custom.wave is already defined by ${one}`,
    );
  });

  test('an executor names the module that it cannot load', async () => {
    const broken = await write('broken.mjs', "throw new Error('not today');");
    expect(await load(broken)).toBe(`HOLDPOINT_CAPABILITIES: ${broken}: cannot load: not today`);
    const lost = await write('lost.mjs', "import 'nothing-of-the-kind';");
    expect(await load(lost)).toContain(`${lost}: cannot load: Cannot find package`);
  });

  test('an executor refuses a module inside the workspace, also through a link', async () => {
    await writeFile(join(workspace, 'wave.mjs'), minimal('wave'));
    await symlink(join(workspace, 'wave.mjs'), join(folder.path, 'link.mjs'));
    expect(await load(join(folder.path, 'link.mjs'))).toContain('is inside the workspace');
  });
});
