import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdpoint-gates-')));
  execFileSync('git', ['init', '--quiet', root]);
  mkdirSync(join(root, '.holdpoint/gates'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

const type = (line: string, directory = root) => typeLine(line.split(' '), {}, { directory });
const write = (name: string, text: string): void => writeFileSync(join(root, '.holdpoint/gates', name), text);

const RELEASE = 'id: release\nversion: "3"\napproval_request:\n  title: "Release {{ effect.target }}?"\n';

describe('workflow gates', () => {
  test('workflow gates shows shipped gates and those of the repository', async () => {
    expect((await type('workflow gates')).out).toMatch(/^approval_recovery_v2 +3 +shipped +default/m);
    write('release.yaml', RELEASE);
    write('README.md', 'no gate');
    const { code, out, calls } = await type('workflow gates');
    expect({ code, calls }).toEqual({ code: 0, calls: [] });
    expect(out).toMatch(/^release +3 +\.holdpoint\/gates\/release\.yaml$/m);
    expect(JSON.parse((await type('workflow gates --json')).out)).toMatchObject({
      gates: [
        { name: 'approval_recovery_v2', file: null, default: true },
        { name: 'release', version: '3', file: '.holdpoint/gates/release.yaml', default: false },
      ],
      problems: [],
    });
  });

  test('workflow gates reports an invalid gate and fails', async () => {
    write('release.yaml', RELEASE.replace('title', 'titel'));
    const { code, out, err } = await type('workflow gates');
    expect(code).toBe(1);
    expect(out).toMatch(/^release +- .*1 problem/m);
    expect(err).toContain('.holdpoint/gates/release.yaml approval_request.titel: error WORKFLOW_KEY_UNKNOWN');
    expect(err).toContain('did you mean "title"?');
  });
});

describe('workflow gates <name>', () => {
  test('workflow gates <name> prints the source, or the compiled gate as JSON', async () => {
    write('release.yaml', RELEASE);
    expect(await type('workflow gates release')).toMatchObject({ code: 0, out: RELEASE });
    const { out } = await type('workflow gates release --json');
    expect(JSON.parse(out)).toMatchObject({
      id: 'release',
      request: { title: 'Release {{ effect.target }}?' },
    });
    expect((await type('workflow gates approval_recovery_v2')).out).toContain('\nid: approval_recovery_v2\n');
  });

  test('a gate of the repository replaces a shipped gate of the same name', async () => {
    write('approval_recovery_v2.yaml', RELEASE.replace('release', 'approval_recovery_v2'));
    expect((await type('workflow gates approval_recovery_v2')).out).toContain('Release {{');
  });

  test.each(['gone', '../release', 'Release'])('an unknown gate %s is an error', async (name) => {
    const { code, err } = await type(`workflow gates ${name}`);
    expect(code).toBe(1);
    expect(err).toContain('WORKFLOW_EFFECT_GATE');
  });

  test('an unknown gate suggests the nearest name', async () => {
    expect((await type('workflow gates approval_recovery_v1')).err).toContain(
      'did you mean "approval_recovery_v2"?',
    );
  });
});

describe('workflow validate', () => {
  test('workflow validate takes several files, and fails if one is invalid', async () => {
    write('release.yaml', RELEASE);
    write('bad.yaml', `${RELEASE}extra: 1\npolicy: { quorum: none }\n`);
    const good = await type('workflow validate .holdpoint/gates/release.yaml');
    expect(good).toMatchObject({ code: 0, err: '', calls: [] });
    expect(good.out).toContain('release@3');
    const { code, out, err } = await type(
      'workflow validate .holdpoint/gates/release.yaml .holdpoint/gates/bad.yaml',
    );
    expect(code).toBe(1);
    expect(out).toContain('gate validation passed');
    expect(out).toContain('2 problem(s)');
    expect(err).toContain('policy.quorum');
    const { out: json } = await type('workflow validate .holdpoint/gates/release.yaml --json');
    expect(JSON.parse(json)).toMatchObject({ outcome: 'gate_validation_passed', id: 'release' });
  });

  test('workflow validate reads no file outside of the repository', async () => {
    symlinkSync('/etc/hostname', join(root, '.holdpoint/gates/out.yaml'));
    for (const file of ['/etc/hostname', '../gate.yaml', '.holdpoint/gates/out.yaml']) {
      const { code, err } = await type(`workflow validate ${file}`);
      expect(code).toBe(1);
      expect(err).toContain('WORKFLOW_PATH_REFUSED');
    }
    expect((await type('workflow validate gone.yaml')).err).toContain('no such file');
  });
});
