import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { expect, test } from 'vitest';
import { describe as describeCapability } from '../queries/capabilities.ts';
import { createKeyedFiles } from '../adapters/files/keyed-file.ts';
import { createRepositories } from '../adapters/git/repositories.ts';
import { createProcessRecords } from '../adapters/process/process-records.ts';
import { createWorkspace } from '../adapters/files/workspace.ts';
import { classifiersWith } from '../effect/custom-traits.ts';
import { fileAppend } from './file/file-append.ts';
import { fileWrite } from './file/file-write.ts';
import { httpRequests } from './http/http-request.ts';
import { notices } from './notify/notices.ts';
import { stageCapabilities } from './stages.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const documented = readFileSync(join(ROOT, 'docs/capabilities.md'), 'utf8');

/** Everything that an executor has without modules of an operator's own. Nothing is carried out by it. */
const all = [
  fileAppend(createKeyedFiles('/nowhere')),
  fileWrite(createWorkspace('/nowhere')),
  ...httpRequests({
    targets: new Set(),
    keyedTargets: new Set(),
    idempotentTargets: new Set(),
    anyPublic: false,
  }),
  ...notices({ targets: new Set() }, () => 0),
  ...stageCapabilities({
    repositories: createRepositories([], {}),
    records: createProcessRecords('/nowhere'),
    env: {},
  }),
];
const known = { capabilities: all, ...classifiersWith([]) };
const views = all.map((each) => describeCapability(each, known, true));

test('the documented table matches the executor', () => {
  const yes = (is: boolean): string => (is ? 'yes' : '');
  const rows = views
    .toSorted((a, b) => (a.uses < b.uses ? -1 : 1))
    .map(
      ({ uses, effectClass, kind = 'any', work, preview, probe, compensate }) =>
        `| \`${uses}\` | ${effectClass} | ${kind} | ${[work, preview, probe, compensate].map(yes).join(' | ')} |`,
    );
  const table = [
    '| label | class | kind | work | preview | probe | compensate |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ];
  const [, written = ''] =
    /<!-- capabilities: begin -->\n\n([^]*?)\n\n<!-- capabilities: end -->/.exec(documented) ?? [];
  expect(written.split('\n')).toEqual(table);
});

test('every known label is a capability, a preview or a compensation', () => {
  const labels = views.flatMap(({ uses, preview, compensate }) => [
    uses,
    ...(preview ? [`${uses}.preview`] : []),
    ...(compensate ? [`${uses}.compensate`] : []),
  ]);
  expect(labels.toSorted()).toEqual(Object.keys(CAPABILITIES).toSorted());
});

test('every capability has an argument schema', () => {
  for (const { input } of views) expect(input).toMatchObject({ type: 'object' });
});

test('the documented example is the tested file', () => {
  const example = readFileSync(join(ROOT, 'services/executor/examples/custom-capability.ts'), 'utf8');
  expect(documented).toContain(example);
});
