import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEFAULT_CONFIG, type WorkflowConfig } from '../config/config.ts';
import { initRepository } from './init.ts';
import { findWorkflow } from './find-workflow.ts';
import { temporaryRepository } from '../../testing/repository.ts';

const template = (id: string, version = 'v1'): string => `id = "${id}"\nversion = "${version}"\n`;
const configured = (commands: Readonly<Record<string, string>>): WorkflowConfig => ({
  ...DEFAULT_CONFIG,
  commands: new Map(Object.entries(commands)),
});

test.each(['file:flows/a.toml', 'flows/a.toml', './flows/a.toml'])('%s selects the file itself', (flow) => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('flows/a.toml', template('a'));
  const expected = { workflow: { root, file: 'flows/a.toml', selector: 'file:flows/a.toml' }, problems: [] };
  expect(findWorkflow(root, flow, DEFAULT_CONFIG)).toEqual(expected);
});

test('a path is relative to the current folder or absolute', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  const absolute = repository.write('flows/a.json', '{}');
  const flow = { root, file: 'flows/a.json', selector: 'file:flows/a.json' };
  const from = join(root, 'flows');
  expect(findWorkflow(root, 'a.json', DEFAULT_CONFIG, { from }).workflow).toEqual(flow);
  expect(findWorkflow(root, '../flows/a.json', DEFAULT_CONFIG, { from }).workflow).toEqual(flow);
  expect(findWorkflow(root, absolute, DEFAULT_CONFIG, { from }).workflow).toEqual(flow);
});

test.each([
  ['', 'WORKFLOW_FLOW_EMPTY'],
  ['  ', 'WORKFLOW_FLOW_EMPTY'],
  ['missing.toml', 'WORKFLOW_FLOW_NOT_FOUND'],
  ['./folder', 'WORKFLOW_NOT_A_FILE'],
  ['file:', 'WORKFLOW_NOT_A_FILE'],
  ['./pipe.toml', 'WORKFLOW_NOT_A_FILE'],
  ['./flow.yaml', 'WORKFLOW_FILE_FORMAT'],
  ['file:flow', 'WORKFLOW_FILE_FORMAT'],
  ['../flow.toml', 'WORKFLOW_PATH_REFUSED'],
  ['/etc/hosts.toml', 'WORKFLOW_PATH_REFUSED'],
  ['link.toml', 'WORKFLOW_PATH_REFUSED'],
  ['a.b@v1', 'WORKFLOW_FLOW_NOT_FOUND'],
  ['template.stage.draft.v2', 'WORKFLOW_SELECTOR_DOTTED'],
  ['draft', 'WORKFLOW_FLOW_UNKNOWN'],
  ['@v1', 'WORKFLOW_FLOW_UNKNOWN'],
  ['a@b@c', 'WORKFLOW_FLOW_UNKNOWN'],
])('%j is refused with %s', (flow, code) => {
  using repository = temporaryRepository();
  const { outside, root } = repository;
  writeFileSync(join(outside, 'flow.toml'), template('outside'));
  symlinkSync(join(outside, 'flow.toml'), join(root, 'link.toml'));
  mkdirSync(join(root, 'folder'));
  repository.write('flow.yaml', '');
  repository.write('flow', '');
  execFileSync('mkfifo', [join(root, 'pipe.toml')]);
  const found = findWorkflow(root, flow, DEFAULT_CONFIG);
  expect(found.workflow).toBeUndefined();
  expect(found.problems.map((problem) => problem.code)).toEqual([code]);
});

test('a dotted selector gets a correction', () => {
  using repository = temporaryRepository();
  const { problems } = findWorkflow(repository.root, 'template.stage.draft.v2', DEFAULT_CONFIG);
  expect(problems).toEqual([expect.objectContaining({ expected: 'template.stage.draft@v2' })]);
});

test.each(['draft', 'approve', 'merge'])(
  'the @v2 name of the stage %s finds the shipped template',
  (stage) => {
    using repository = temporaryRepository();
    const { root } = repository;
    initRepository(root, { check: false });
    const { workflow, problems } = findWorkflow(root, `template.stage.${stage}@v2`, DEFAULT_CONFIG);
    expect(problems).toEqual([]);
    expect(workflow).toMatchObject({
      file: `.holdpoint/workflows/${stage}.toml`,
      selector: `template.stage.${stage}@v1`,
    });
  },
);

test('a template of the repository with the @v2 identity comes before the shipped stage', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  initRepository(root, { check: false });
  repository.write('.vizier/workflow/draft.toml', template('template.stage.draft', 'v2'));
  const { workflow } = findWorkflow(root, 'template.stage.draft@v2', DEFAULT_CONFIG);
  expect(workflow?.file).toBe('.vizier/workflow/draft.toml');
  // Other versions have no other name.
  expect(findWorkflow(root, 'template.stage.merge@v3', DEFAULT_CONFIG).workflow).toBeUndefined();
});

test('an unknown name lists all forms and the nearest alias', () => {
  using repository = temporaryRepository();
  const config = configured({ draft: 'a@v1', approve: 'b@v1' });
  const { problems } = findWorkflow(repository.root, 'daft', config);
  expect(problems).toEqual([expect.objectContaining({ nearest: 'draft' })]);
  expect(problems[0]?.expected).toMatch(/file:.*\.toml.*alias.*@/);
});

test.each(['.holdpoint/workflows', '.holdpoint', '.vizier/workflows', '.vizier/workflow', '.vizier'])(
  'a selector finds its template in %s, in TOML and in JSON',
  (folder) => {
    using repository = temporaryRepository();
    const { root } = repository;
    repository.write(`${folder}/one.toml`, template('x.one'));
    repository.write(`${folder}/two.json`, JSON.stringify({ id: 'x.two', version: 'v3' }));
    repository.write(`${folder}/config.toml`, '[commands]\n');
    expect(findWorkflow(root, 'x.one@v1', DEFAULT_CONFIG)).toEqual({
      workflow: { root, file: `${folder}/one.toml`, selector: 'x.one@v1' },
      problems: [],
    });
    expect(findWorkflow(root, 'x.two@v3', DEFAULT_CONFIG).workflow?.file).toBe(`${folder}/two.json`);
  },
);

test('subfolders are not searched for selectors', () => {
  using repository = temporaryRepository();
  repository.write('.holdpoint/workflows/deep/one.toml', template('x.one'));
  expect(findWorkflow(repository.root, 'x.one@v1', DEFAULT_CONFIG).workflow).toBeUndefined();
});

test('an identity in two files is refused with both names', () => {
  using repository = temporaryRepository();
  repository.write('.holdpoint/workflows/one.toml', template('x.one'));
  repository.write('.vizier/other.toml', template('x.one'));
  const { problems } = findWorkflow(repository.root, 'x.one@v1', DEFAULT_CONFIG);
  expect(problems).toEqual([
    expect.objectContaining({
      code: 'WORKFLOW_SELECTOR_AMBIGUOUS',
      found: 'x.one@v1 in .holdpoint/workflows/one.toml, .vizier/other.toml',
    }),
  ]);
});

test('a file reached through two paths counts once', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('.holdpoint/workflows/one.toml', template('x.one'));
  mkdirSync(join(root, '.vizier'));
  symlinkSync('../.holdpoint/workflows', join(root, '.vizier', 'workflows'));
  expect(findWorkflow(root, 'x.one@v1', DEFAULT_CONFIG).workflow?.file).toBe('.holdpoint/workflows/one.toml');
});

test('a broken file does not hide a template, but is named when one is missing', () => {
  using repository = temporaryRepository();
  const { root, outside } = repository;
  repository.write('.holdpoint/workflows/one.toml', template('x.one'));
  repository.write('.holdpoint/workflows/broken.toml', 'id = \n');
  repository.write('.holdpoint/workflows/broken.json', '{');
  repository.write('.holdpoint/workflows/deep.json', '['.repeat(100_000));
  repository.write('.holdpoint/workflows/deep.toml', `a = ${'['.repeat(100_000)}`);
  repository.write('.holdpoint/workflows/large.toml', '#'.repeat(2_000_000));
  symlinkSync(outside, join(root, '.vizier'));
  execFileSync('mkfifo', [join(root, '.holdpoint/workflows/pipe.toml')]);
  expect(findWorkflow(root, 'x.one@v1', DEFAULT_CONFIG)).toMatchObject({
    workflow: { file: '.holdpoint/workflows/one.toml' },
    problems: [],
  });
  const { workflow: flow, problems } = findWorkflow(root, 'x.ome@v1', DEFAULT_CONFIG);
  expect(flow).toBeUndefined();
  expect(problems[0]).toMatchObject({
    code: 'WORKFLOW_FLOW_NOT_FOUND',
    nearest: 'x.one@v1',
    severity: 'error',
  });
  const skipped = problems.slice(1).map(({ code, severity, file }) => `${severity} ${code} ${file ?? ''}`);
  expect(skipped).toEqual(
    ['broken.json', 'broken.toml', 'deep.json', 'deep.toml', 'large.toml', 'pipe.toml']
      .map((name) => `warning WORKFLOW_FILE_SKIPPED .holdpoint/workflows/${name}`)
      .concat(
        ['.vizier/workflows', '.vizier/workflow', '.vizier'].map(
          (name) => `warning WORKFLOW_FILE_SKIPPED ${name}`,
        ),
      ),
  );
  expect(problems.find(({ file }) => file?.endsWith('broken.toml') === true)?.found).toMatch(
    /^no TOML at 1:\d+/,
  );
});

test('an alias is found in any spelling and returned with the workflow', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('flows/a.toml', template('a'));
  repository.write('.vizier/b.toml', template('b'));
  const config = configured({ code_review: './flows/a.toml', other: 'b@v1' });
  const from = join(root, 'flows');
  for (const name of ['code_review', 'Code Review', 'code-review', ' CODE--REVIEW '])
    expect(findWorkflow(root, name, config, { from }).workflow).toEqual({
      root,
      file: 'flows/a.toml',
      alias: 'code_review',
      selector: 'file:flows/a.toml',
    });
  expect(findWorkflow(root, 'other', config).workflow).toMatchObject({ alias: 'other', selector: 'b@v1' });
});

test.each(['missing.toml', 'b@v9', 'nonsense', '../out.toml', 'x.y.v2'])(
  'an alias for %j is a mistake of the configuration: nothing else is tried',
  (target) => {
    using repository = temporaryRepository();
    const { root } = repository;
    repository.write('.vizier/b.toml', template('b'));
    const { workflow: flow, problems } = findWorkflow(root, 'b', configured({ b: target, nonsense: 'b@v1' }));
    expect(flow).toBeUndefined();
    expect(problems.map(({ path }) => path)).toEqual(['commands.b']);
  },
);

test('a template outside of the repository needs an allowed folder and reads only from there', () => {
  using repository = temporaryRepository();
  const { root, outside } = repository;
  const shared = join(outside, 'shared');
  mkdirSync(shared);
  writeFileSync(join(shared, 'a.toml'), template('a'));
  writeFileSync(join(outside, 'b.toml'), template('b'));
  const options = { alsoUnder: [join(outside, 'missing'), shared] };
  expect(findWorkflow(root, '../shared/a.toml', DEFAULT_CONFIG, options).workflow).toEqual({
    root: shared,
    file: 'a.toml',
    selector: `file:${join(shared, 'a.toml')}`,
  });
  const refused = [expect.objectContaining({ code: 'WORKFLOW_PATH_REFUSED' })];
  expect(findWorkflow(root, '../shared/a.toml', DEFAULT_CONFIG).problems).toEqual(refused);
  expect(findWorkflow(root, '../b.toml', DEFAULT_CONFIG, options).problems).toEqual(refused);
});
