import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { filesIn, programsIn } from './docs-code.ts';
import { filesEnding, readSource, ROOT } from './source-tree.ts';

const run = promisify(execFile);
const WITHIN_MS = 240_000;

const documents = ['README.md', ...filesEnding('.md', ['docs'])]
  .map((path) => ({ path, files: filesIn(path, readSource(path)) }))
  .filter(({ files }) => files.length > 0);

/** A folder where the SDK is found as it is in an example, and which no other check looks into. */
const createFolder = async (): Promise<string> => {
  const above = join(ROOT, 'examples', 'support-reply', '.holdpoint', 'data');
  await mkdir(above, { recursive: true });
  const folder = await mkdtemp(join(above, 'docs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

test('the guide of the SDK has code that is checked', () => {
  expect(documents.map(({ path }) => path)).toContain('docs/sdk.md');
});

test(
  'the code of the documents has the types that it says, and does what it says',
  { timeout: WITHIN_MS },
  async () => {
    const folder = await createFolder();
    const written = await Promise.all(
      documents.flatMap(({ path, files }) =>
        files.map(async ({ name, code, runs }) => {
          const place = join(folder, path.replaceAll(/\W/g, '-'));
          await mkdir(place, { recursive: true });
          await writeFile(join(place, name), code);
          return { file: join(place, name), runs };
        }),
      ),
    );
    const config = { extends: join(ROOT, 'tsconfig.json'), include: ['**/*.ts'], exclude: [] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const checked = await run(process.execPath, [compiler, '-p', folder]).catch(
      ({ stdout }: { readonly stdout: string }) => ({ stdout }),
    );
    expect(checked.stdout).toBe('');
    for (const { file, runs } of written) if (runs) await run(process.execPath, [file]);
  },
);

test('the README and the guide have the same first program in Python, of at most 25 lines', () => {
  const first = (path: string) => programsIn(readSource(path)).get('refund.py') ?? '';
  expect(first('README.md')).toBe(first('docs/python.md'));
  expect(first('README.md')).toMatch(/refund\.hold\(.*wait\(\)/s);
  expect(first('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(25);
});

describe('the files of a document', () => {
  test('are the blocks that are marked so', () => {
    const markdown =
      '```ts file=a.ts\n1;\n```\n\n```ts\n2;\n```\n\n- x\n\n  ```ts file=b-c.ts run\n  3;\n  ```\n';
    expect(filesIn('a.md', markdown)).toEqual([
      { name: 'a.ts', code: '1;\n', runs: false },
      { name: 'b-c.ts', code: '3;\n', runs: true },
    ]);
  });

  test.each(['ts file=a', 'ts file=../a.ts', 'ts runs', 'ts file=a.ts  run later'])(
    'are not marked by %s',
    (info) => {
      expect(() => filesIn('a.md', `\`\`\`${info}\n1;\n\`\`\`\n`)).toThrow('a.md: what is to be done with');
    },
  );

  test('are each there once', () => {
    const block = '```ts file=a.ts\n1;\n```\n\n';
    expect(() => filesIn('a.md', block + block)).toThrow('a.md: a.ts is there twice');
  });
});
