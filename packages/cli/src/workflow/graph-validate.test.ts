import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdpoint-flows-')));
  execFileSync('git', ['init', '--quiet', root]);
});
afterEach(() => rmSync(root, { recursive: true }));

const type = (line: string, directory = root) => typeLine(line.split(' '), {}, { directory });
const CONFIG = '.holdpoint/config.toml';

describe('init', () => {
  test('writes the templates and a configuration, and says which files it wrote', async () => {
    const { code, out, calls } = await type('workflow init');
    expect({ code, calls }).toEqual({ code: 0, calls: [] });
    expect(out).toMatch(/^written +\.holdpoint\/workflows\/develop\.toml$/m);
    expect(existsSync(join(root, CONFIG))).toBe(true);
    expect((await type('workflow init')).out).toMatch(/^there +\.holdpoint\/config\.toml$/m);
  });

  test('--check writes nothing, and fails as long as something is missing', async () => {
    const { code, out } = await type('workflow init --check');
    expect(code).toBe(1);
    expect(out).toMatch(/^missing +\.holdpoint\/config\.toml$/m);
    expect(existsSync(join(root, '.holdpoint'))).toBe(false);
    await type('workflow init');
    expect((await type('workflow init --check')).code).toBe(0);
  });

  test('never changes what is there', async () => {
    await type('workflow init');
    writeFileSync(join(root, CONFIG), '# mine\n');
    const { out } = await type('workflow init --format json');
    expect(JSON.parse(out)).toMatchObject({ outcome: 'initialised', written: [], differing: [CONFIG] });
    expect(readFileSync(join(root, CONFIG), 'utf8')).toBe('# mine\n');
    expect((await type('workflow init')).out).toMatch(/^kept +\.holdpoint\/config\.toml \(modified/m);
  });

  test('outside of a repository says so', async () => {
    const { code, err } = await type('workflow init', '/');
    expect(code).toBe(1);
    expect(err).toMatch(/^error WORKFLOW_NO_REPOSITORY: /);
  });
});

describe('validate', () => {
  test('looks at the rules for failures as well', async () => {
    await type('workflow init');
    writeFileSync(join(root, '.holdpoint/recovery.toml'), '[thresholds]\nUNKNOWN = 0\n[backof]\n');
    const { code, err } = await type('workflow validate draft');
    expect(code).toBe(1);
    expect(err.match(/error WORKFLOW_RECOVERY_[A-Z_]+/g)).toEqual([
      'error WORKFLOW_RECOVERY_VALUE_INVALID',
      'error WORKFLOW_RECOVERY_KEY_UNKNOWN',
    ]);
  });

  test('validate takes several workflows and has no warnings about untouched files of init', async () => {
    await type('workflow init');
    const { code, out, err, calls } = await type('workflow validate draft approve merge develop');
    expect({ code, calls }).toEqual({ code: 0, calls: [] });
    expect(out.match(/workflow validation passed/g)).toHaveLength(4);
    expect(err).toBe('');
  });

  test('says everything that is wrong, and fails when one of several is', async () => {
    await type('workflow init');
    writeFileSync(
      join(root, 'bad.toml'),
      'id = "a"\nversion = "v1"\nextra = 1\n[[nodes]]\nid = "n"\nuses = "vizier.x"\nafter = ["gone"]\n',
    );
    const { code, out, err } = await type('workflow validate merge bad.toml');
    expect(code).toBe(1);
    expect(out).toContain('workflow validation passed');
    expect(out).toContain('workflow validation failed');
    expect(err).toContain('bad.toml');
    const { out: json } = await type('workflow validate bad.toml --format json');
    expect(JSON.parse(json)).toMatchObject({ outcome: 'workflow_validation_failed' });
  });

  test('of an argument that no input can fill is an error', async () => {
    writeFileSync(
      join(root, 'bad.toml'),
      'id = "a"\nversion = "v1"\n[[nodes]]\nid = "n"\nuses = "cap.env.shell.command.run"\n',
    );
    expect((await type('workflow validate bad.toml')).code).toBe(1);
  });
});

describe('graph', () => {
  test.each([
    ['mermaid', /^flowchart TD\n/],
    ['dot', /^digraph /],
    ['ascii', /worktree_prepare/],
  ])('as %s', async (format, drawn) => {
    await type('workflow init');
    const { code, out } = await type(`workflow graph draft --format ${format}`);
    expect(code).toBe(0);
    expect(out).toMatch(drawn);
  });

  test('of a flow that is not there is none', async () => {
    expect(await type('workflow graph gone.toml')).toMatchObject({ code: 1, calls: [] });
    expect((await type('workflow graph')).code).toBe(2);
    expect((await type('workflow graph draft --format png')).code).toBe(2);
  });
});
