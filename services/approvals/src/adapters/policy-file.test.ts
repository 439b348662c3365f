import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordedLog } from '@holdpoint/runtime/testing/recorded-log';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_FLOOR } from '../policy/default-floor.ts';
import { followPolicy, parsePolicy, type PolicySource, readPolicy } from './policy-file.ts';

const fileOf = (quorum: unknown): string => JSON.stringify({ floor: [{ name: 'all', quorum }] });

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'policy-'));
  path = join(folder, 'policy.json');
  await writeFile(path, fileOf(2));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a policy file at the start', () => {
  test('without a file the built-in floor is in force', () => {
    expect(readPolicy(undefined)).toBe(DEFAULT_FLOOR);
    expect(readPolicy('')).toBe(DEFAULT_FLOOR);
  });

  test.each([
    ['{\n"floor": [}\n', /^HOLDPOINT_POLICY_FILE: .*line 2/],
    ['{"floor": [\n', /line 2: not JSON/],
    ['{\n"floor": [],\n"x": tru,\n}', /line 3: not JSON/],
    [fileOf('two'), /^HOLDPOINT_POLICY_FILE: floor\[0\]\.quorum: /],
    ['{"floor":[{"name":"a"}]}', /^HOLDPOINT_POLICY_FILE: floor\[0\]: demands nothing/],
    ['{"floor":[{"name":"a","quorum":2},{"name":"a","quorum":3}]}', /floor: each name once/],
    ['{"floor":[{"name":"a","quorum":2,"except":[{}]}]}', /floor\[0\]\.except\[0\]: names nothing/],
    [
      '{"floor":[{"name":"a","quorum":2,"except":[{"workflows":["x"]}]}]}',
      /floor\[0\]\.except\[0\]: .*workflows/,
    ],
  ])('the invalid content %j is refused with its place', async (text, problem) => {
    await writeFile(path, text);
    expect(() => readPolicy(path)).toThrow(problem);
  });

  test('a missing file is refused', () => {
    expect(() => readPolicy(join(folder, 'none'))).toThrow(/^HOLDPOINT_POLICY_FILE: the file cannot be read/);
  });
});

test('the example of the guide is a valid policy file, and its first entry is the built-in floor', () => {
  const guide = readFileSync(new URL('../../../../docs/approvals.md', import.meta.url), 'utf8');
  const [, section = ''] = guide.split('\n## The policy floor\n');
  const [, example = ''] = /```json\n(.*?)```/su.exec(section) ?? [];
  const { floor } = parsePolicy(example).floor;
  expect(floor.map(({ name }) => name)).toEqual(['hard-to-undo', 'production', 'scripts']);
  expect({ floor: floor.slice(0, 1) }).toEqual(DEFAULT_FLOOR.floor);
});

describe('a policy file that changes', () => {
  let followed: PolicySource;
  afterEach(() => followed.stop());

  test('a valid change is in force; an invalid one leaves the floor, and says so until it is mended', async () => {
    const { lines, log } = recordedLog();
    followed = followPolicy(path, readPolicy(path), log);
    await followed.look();
    await writeFile(path, fileOf(13));
    await followed.look();
    const { digest } = followed.current();
    expect(followed.current().floor).toEqual({ floor: [{ name: 'all', quorum: 13 }] });
    await writeFile(path, fileOf('wrong'));
    await followed.look();
    expect(followed.current().digest).toBe(digest);
    expect(followed.problem()).toMatch(/^HOLDPOINT_POLICY_FILE: floor\[0\]\.quorum/);
    expect(lines.some(({ message }) => message.includes('the last content stays in use'))).toBe(true);
    await writeFile(path, fileOf(14));
    await followed.look();
    expect(followed.problem()).toBeUndefined();
    expect(followed.current().digest).not.toBe(digest);
  });
});
