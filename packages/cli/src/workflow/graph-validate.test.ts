import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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

describe('workflow init', () => {
  test('workflow init writes templates and a configuration, and lists them', async () => {
    const { code, out, calls } = await type('workflow init');
    expect({ code, calls }).toEqual({ code: 0, calls: [] });
    expect(out).toMatch(/^written +\.holdpoint\/workflows\/develop\.toml$/m);
    expect(existsSync(join(root, CONFIG))).toBe(true);
    expect((await type('workflow init')).out).toMatch(/^there +\.holdpoint\/config\.toml$/m);
  });

  test('--check writes nothing, and fails while a file is missing', async () => {
    const { code, out } = await type('workflow init --check');
    expect(code).toBe(1);
    expect(out).toMatch(/^missing +\.holdpoint\/config\.toml$/m);
    expect(existsSync(join(root, '.holdpoint'))).toBe(false);
    await type('workflow init');
    expect((await type('workflow init --check')).code).toBe(0);
  });

  test('workflow init never changes an existing file', async () => {
    await type('workflow init');
    writeFileSync(join(root, CONFIG), '# mine\n');
    const { out } = await type('workflow init --format json');
    expect(JSON.parse(out)).toMatchObject({ outcome: 'initialised', written: [], differing: [CONFIG] });
    expect(readFileSync(join(root, CONFIG), 'utf8')).toBe('# mine\n');
    expect((await type('workflow init')).out).toMatch(/^kept +\.holdpoint\/config\.toml \(modified/m);
  });

  test('workflow init says that it adopts a configuration of Vizier, whose aliases stay in use', async () => {
    mkdirSync(join(root, '.vizier'));
    writeFileSync(join(root, '.vizier/config.toml'), '[commands]\nmine = "template.stage.draft@v2"\n');
    const { code, out } = await type('workflow init');
    expect(code).toBe(0);
    expect(out).toMatch(/^adopted +\.vizier\/config\.toml \(stays in use/m);
    expect(existsSync(join(root, CONFIG))).toBe(false);
    expect((await type('workflow init --check')).code).toBe(0);
    expect(await type('workflow validate mine')).toMatchObject({ code: 0, err: '' });
    writeFileSync(join(root, CONFIG), '# mine\n');
    expect((await type('workflow init')).out).toMatch(
      /^unused +\.vizier\/config\.toml \(.*delete that file/m,
    );
  });

  test('workflow init outside of a repository is an error', async () => {
    const { code, err } = await type('workflow init', '/');
    expect(code).toBe(1);
    expect(err).toMatch(/^error WORKFLOW_NO_REPOSITORY: /);
  });
});

describe('workflow validate', () => {
  test('a setting without effect is named once per command, with the line to write instead', async () => {
    await type('workflow init');
    rmSync(join(root, CONFIG));
    mkdirSync(join(root, '.vizier'));
    const commands = 'draft = "template.stage.draft@v1"\napprove = "template.stage.approve@v1"\n';
    writeFileSync(
      join(root, '.vizier/config.toml'),
      `[commands]\n${commands}[merge.cicd_gate]\nscript = "make"\n`,
    );
    const { code, err } = await type('workflow validate draft approve');
    expect(code).toBe(0);
    expect(err).toMatch(/^[^\n]*WORKFLOW_CONFIG_IGNORED[^\n]*--set cicd_script=[^\n]*\n$/);
    // A list of jobs compiles no workflow.
    const listed = await typeLine(
      ['jobs', 'list'],
      { 'orchestrator.list': { items: [] } },
      { directory: root },
    );
    expect(listed.err).toBe('');
  });

  test('workflow validate also checks the recovery rules', async () => {
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

  test('workflow validate reports every problem, and fails if one workflow is invalid', async () => {
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

  test('an argument that no input can fill is an error', async () => {
    writeFileSync(
      join(root, 'bad.toml'),
      'id = "a"\nversion = "v1"\n[[nodes]]\nid = "n"\nuses = "cap.env.shell.command.run"\n',
    );
    expect((await type('workflow validate bad.toml')).code).toBe(1);
  });
});

describe('workflow graph', () => {
  test.each([
    ['mermaid', /^flowchart TD\n/],
    ['dot', /^digraph /],
    ['ascii', /worktree_prepare/],
  ])('workflow graph prints %s', async (format, drawn) => {
    await type('workflow init');
    const { code, out } = await type(`workflow graph draft --format ${format}`);
    expect(code).toBe(0);
    expect(out).toMatch(drawn);
  });

  test('workflow graph of an unknown workflow is an error', async () => {
    expect(await type('workflow graph gone.toml')).toMatchObject({ code: 1, calls: [] });
    expect((await type('workflow graph')).code).toBe(2);
    expect((await type('workflow graph draft --format png')).code).toBe(2);
  });
});
