import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { expect, test } from 'vitest';
import { readWorkflowConfig } from '../config/config.ts';
import { readRecoveryRules } from '../recovery/read-rules.ts';
import { findWorkflow } from './find-workflow.ts';
import { readConfigFile } from './config-file.ts';
import { initRepository } from './init.ts';
import { RECOVERY_FILE } from './recovery-file.ts';
import { temporaryRepository } from '../../testing/repository.ts';
import { shippedFiles } from './shipped.ts';

const ALL = [
  '.holdpoint/.gitignore',
  '.holdpoint/config.toml',
  '.holdpoint/recovery.toml',
  '.holdpoint/workflows/hello.toml',
  '.holdpoint/workflows/draft.toml',
  '.holdpoint/workflows/approve.toml',
  '.holdpoint/workflows/merge.toml',
  '.holdpoint/workflows/develop.toml',
  '.holdpoint/programs/hello.mjs',
];

test('init writes templates, a configuration and ignore rules once', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  expect(initRepository(root, { check: false })).toEqual({ written: ALL, present: [], differing: [] });
  for (const { path, text } of shippedFiles()) expect(readFileSync(join(root, path), 'utf8')).toBe(text);
  expect(readFileSync(join(root, '.holdpoint/.gitignore'), 'utf8').split('\n')).toEqual([
    'data/',
    'worktrees/',
    'tmp/',
    '',
  ]);
  expect(initRepository(root, { check: false })).toEqual({ written: [], present: ALL, differing: [] });
});

test('a check reports the same and writes nothing', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  expect(initRepository(root, { check: true })).toEqual({ written: ALL, present: [], differing: [] });
  expect(readdirSync(root)).toEqual(['.git']);
});

test('init never changes an existing file', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('.holdpoint/config.toml', '# mine\n');
  mkdirSync(join(root, '.holdpoint/workflows/draft.toml'), { recursive: true });
  const { written, differing } = initRepository(root, { check: false });
  expect(differing).toEqual(['.holdpoint/config.toml', '.holdpoint/workflows/draft.toml']);
  expect(written).toEqual(ALL.filter((path) => !differing.includes(path)));
  expect(readFileSync(join(root, '.holdpoint/config.toml'), 'utf8')).toBe('# mine\n');
});

test.each(['.vizier/config.toml', '.vizier/config.json'])(
  'init adopts %s: it stays in use, and every alias keeps its meaning',
  (file) => {
    using repository = temporaryRepository();
    const { root } = repository;
    repository.write('.vizier/workflow/mine.toml', 'id = "mine"\nversion = "v1"\n');
    const config = { commands: { draft: 'file:.vizier/workflow/mine.toml' } };
    repository.write(
      file,
      file.endsWith('json') ? JSON.stringify(config) : `[commands]\ndraft = "${config.commands.draft}"\n`,
    );
    const expected = ALL.filter((path) => path !== '.holdpoint/config.toml');
    expect(initRepository(root, { check: true })).toMatchObject({ written: expected, adopted: file });
    expect(initRepository(root, { check: false })).toMatchObject({ written: expected, adopted: file });
    const { config: used } = readConfigFile(root);
    expect(used?.commands.get('draft')).toBe(config.commands.draft);
  },
);

test('init leaves out a template whose identity the repository has already', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('.vizier/config.toml', '[commands]\ndevelop = "template.develop@v1"\n');
  repository.write('.vizier/develop.toml', 'id = "template.develop"\nversion = "v1"\n');
  const file = '.holdpoint/workflows/develop.toml';
  const result = initRepository(root, { check: false });
  expect(result).toMatchObject({ taken: [{ file, by: '.vizier/develop.toml' }] });
  expect(result.written).not.toContain(file);
  const { config } = readConfigFile(root);
  if (config === undefined) throw new Error('no configuration');
  expect(findWorkflow(root, 'develop', config)).toMatchObject({
    workflow: { file: '.vizier/develop.toml' },
    problems: [],
  });
  expect(initRepository(root, { check: true }).written).toEqual([]);
});

test('init names a configuration that does not count beside .holdpoint/config.toml', () => {
  using repository = temporaryRepository();
  repository.write('.vizier/config.toml', '');
  repository.write('.holdpoint/config.toml', '# mine\n');
  expect(initRepository(repository.root, { check: false })).toMatchObject({ unused: '.vizier/config.toml' });
});

test('init does not write through a link to the outside', () => {
  using repository = temporaryRepository();
  const { root, outside } = repository;
  const elsewhere = mkdtempSync(join(outside, 'elsewhere-'));
  symlinkSync(elsewhere, join(root, '.holdpoint'));
  const refused: unknown = expect.objectContaining({ code: 'WORKFLOW_PATH_REFUSED' });
  expect(() => initRepository(root, { check: false })).toThrow(refused);
  expect(readdirSync(elsewhere)).toEqual([]);
});

test('a folder that cannot be created is an error with a code', () => {
  using repository = temporaryRepository();
  writeFileSync(join(repository.root, '.holdpoint'), 'in the way');
  expect(() => initRepository(repository.root, { check: false })).toThrow(
    expect.objectContaining({ code: 'WORKFLOW_FILE_UNWRITABLE' }),
  );
});

test('every shipped alias leads to a shipped template', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  initRepository(root, { check: false });
  const text = readFileSync(join(root, '.holdpoint/config.toml'), 'utf8');
  const { config, problems } = readWorkflowConfig(text, '.holdpoint/config.toml');
  expect(problems).toEqual([]);
  if (config === undefined) throw new Error('no configuration');
  const names = ['hello', 'draft', 'approve', 'merge', 'develop'];
  expect([...config.commands.keys()]).toEqual(names);
  for (const name of names)
    expect(findWorkflow(root, name, config).workflow?.file).toBe(`.holdpoint/workflows/${name}.toml`);
});

test('the shipped recovery rules are empty, and their commented examples are valid', () => {
  const shipped = shippedFiles().find(({ path }) => path === RECOVERY_FILE)?.text ?? '';
  expect(readRecoveryRules(shipped, RECOVERY_FILE)).toEqual({ rules: {}, problems: [] });
  const lines = shipped.split('\n').map((line) => line.replace(/^# (?=\[|[a-z_A-Z]+ = )/, ''));
  const { rules, problems } = readRecoveryRules(lines.join('\n'), RECOVERY_FILE);
  expect(problems).toEqual([]);
  expect(Object.keys(rules ?? {}).toSorted()).toEqual(Object.keys(RecoveryRules.shape).toSorted());
});

test('the commented examples of the shipped configuration are valid', () => {
  const shipped = shippedFiles().find(({ path }) => path === '.holdpoint/config.toml');
  const lines = shipped?.text.split('\n') ?? [];
  const text = lines.map((line) => line.replace(/^# (?=\[|agent\.)/, '')).join('\n');
  const { config, problems } = readWorkflowConfig(text, '.holdpoint/config.toml');
  expect(problems).toEqual([]);
  expect(config?.agents.fallback).toEqual(['my-agent', '--print']);
  expect(config?.agents.commands.size).toBe(1);
  expect(config?.agents.templates.size).toBe(1);
});
