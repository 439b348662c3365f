import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compileWorkflow } from '../../testing/compile-workflow.ts';
import { temporaryRepository } from '../../testing/repository.ts';
import { initRepository } from './init.ts';

test('a draft without a commit is accepted', () => {
  using repository = temporaryRepository();
  initRepository(repository.root, { check: false });
  const shipped = readFileSync(join(repository.root, '.holdpoint/workflows/draft.toml'), 'utf8');
  const commit = /\[\[nodes\]\]\nid = "stage_commit"[^]*?(?=\[\[nodes\]\])/;
  expect(shipped).toMatch(commit);
  const text = shipped
    .replace(commit, '')
    .replace('succeeded = ["stage_commit"]', 'succeeded = ["worktree_cleanup"]');
  repository.write(
    '.holdpoint/workflows/plan-only.toml',
    text.replace('template.stage.draft', 'template.plan'),
  );
  repository.write('.holdpoint/config.toml', '[agents.default]\nagent.command = ["my-agent"]\n');
  repository.write('spec.md', 'Greet people.');
  const { definition, problems } = compileWorkflow(
    repository.root,
    'file:.holdpoint/workflows/plan-only.toml',
    ['spec.md', 'my-slug'],
  );
  expect(problems).toEqual([]);
  expect(definition?.nodes.map(({ id }) => id)).toEqual([
    'worktree_prepare',
    'resolve_prompt',
    'invoke_agent',
    'persist_plan',
    'worktree_cleanup',
    'terminal',
  ]);
});
