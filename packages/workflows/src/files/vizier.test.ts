import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { describe, expect, test } from 'vitest';
import { graphOf } from '../graph/graph.ts';
import { type CompiledWorkflow, compileWorkflow, copyVizier } from '../../testing/compile-workflow.ts';
import { temporaryRepository } from '../../testing/repository.ts';

const compiled = (version: string, name: string, positional: readonly string[]): CompiledWorkflow => {
  using repository = temporaryRepository();
  copyVizier(repository.root, version);
  repository.write('spec.md', 'Greet people by name.');
  return compileWorkflow(repository.root, name, positional, TRIED[name]);
};

const TRIED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  approve: { stop_condition_script: 'test -s notes.md' },
  merge: { cicd_script: 'true', cicd_auto_resolve: 'true', cicd_auto_resolve_script: 'true' },
  develop: { stop_condition_script: 'test -s notes.md', cicd_script: 'true' },
};

const entriesOf = (definition: WorkflowDefinition | undefined): readonly string[] =>
  definition === undefined ? [] : graphOf(definition).entries;

const FLOWS = [
  ['v0.2.5', 'draft', ['spec.md', 'my-slug'], '.vizier/workflow/draft.toml', 8],
  ['v0.2.5', 'approve', ['my-slug'], '.vizier/workflow/approve.toml', 7],
  ['v0.2.5', 'merge', ['my-slug'], '.vizier/workflow/merge.toml', 4],
  ['v0.2.5', 'develop', ['spec.md', 'my-slug'], '.vizier/develop.toml', 19],
  ['v0.2.6', 'draft', ['spec.md', 'my-slug'], '.vizier/workflow/draft.toml', 9],
  ['v0.2.6', 'approve', ['my-slug'], '.vizier/workflow/approve.toml', 8],
  ['v0.2.6', 'merge', ['my-slug'], '.vizier/workflow/merge.toml', 4],
  ['v0.2.6', 'develop', ['spec.md', 'my-slug'], '.vizier/workflows/develop.toml', 21],
  ['v0.2.6', 'commit', [], '.vizier/workflows/commit.toml', 5],
] as const;

describe.each(FLOWS)('a template in the shape of %s: %s', (version, name, positional, file, nodes) => {
  const flow = compiled(version, name, positional);

  test('the template is found under its alias', () => {
    expect(flow).toMatchObject({ file, alias: name });
  });

  test('the template compiles unchanged and without problems', () => {
    expect(flow.problems).toEqual([]);
    expect(flow.definition?.nodes).toHaveLength(nodes);
  });

  test('the workflow has one entry, because nodes after a failure do not count', () => {
    expect(entriesOf(flow.definition)).toHaveLength(1);
  });
});

test('a merge starts at the merge node, not at its conflict gate', () => {
  expect(entriesOf(compiled('v0.2.5', 'merge', ['my-slug']).definition)).toEqual(['merge_integrate']);
});

test('a stop condition may lead back to the commit alone', () => {
  const { definition } = compiled('v0.2.6', 'approve', ['my-slug']);
  expect(definition?.nodes.find(({ id }) => id === 'stop_gate')).toMatchObject({
    script: 'test -s notes.md',
    retry: { mode: 'until_gate', budget: 3 },
    on: { failed: ['stage_commit'] },
  });
});

test('the configured agents run the nodes', () => {
  const { definition } = compiled('v0.2.5', 'develop', ['spec.md', 'my-slug']);
  const agents = definition?.nodes.flatMap(({ agent }) => (agent === undefined ? [] : [agent[0]]));
  expect(agents).toEqual(['sh', 'sh', 'sh']);
});
