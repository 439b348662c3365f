import { artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import type { NodeDefinition, Outcome, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { describe, expect, test } from 'vitest';
import { graphOf } from '../graph/graph.ts';
import { problemText } from '../problems/problem.ts';
import { compileWorkflow } from '../../testing/compile-workflow.ts';
import { initRepository } from './init.ts';
import { temporaryRepository } from '../../testing/repository.ts';

const AGENT = '[agents.default]\nagent.command = ["my-agent", "--print"]\n';

/** Compiles a shipped workflow as after `init`, with an agent. */
const compiled = (
  name: string,
  positional: readonly string[],
  set: Readonly<Record<string, string>> = {},
) => {
  using repository = temporaryRepository();
  const { root } = repository;
  initRepository(root, { check: false });
  repository.write('.holdpoint/config.toml', `${configText(name)}\n${AGENT}`);
  repository.write('spec.md', 'Greet people by ${name} and {{ name }}.');
  const { definition, problems } = compileWorkflow(root, name, positional, set);
  if (definition === undefined) throw new Error(problems.map(problemText).join('\n'));
  return { definition, codes: problems.map(({ code, severity }) => `${severity} ${code}`) };
};

const ID: Readonly<Record<string, string>> = { hello: 'example.hello@v1', develop: 'template.develop@v1' };
const configText = (name: string): string =>
  `[commands]\n${name} = "${ID[name] ?? `template.stage.${name}@v1`}"\n`;

const nodeOf = ({ nodes }: WorkflowDefinition, id: string): NodeDefinition => {
  const found = nodes.find((node) => node.id === id);
  if (found === undefined) throw new Error(`no node ${id}`);
  return found;
};

/** The successful path through a workflow with one entry. */
const chainOf = (definition: WorkflowDefinition): readonly string[] => {
  const graph = graphOf(definition);
  expect(graph.entries).toHaveLength(1);
  const chain: string[] = [];
  let at = graph.entries[0];
  while (at !== undefined) {
    chain.push(at);
    const next = graph.outgoing(at).filter(({ on }) => on === 'succeeded');
    expect(next.length).toBeLessThanOrEqual(1);
    at = next[0]?.to;
  }
  return chain;
};

const labels = (definition: WorkflowDefinition, what: 'needs' | Outcome): readonly string[] =>
  definition.nodes.flatMap(({ needs = [], produces = {} }) =>
    (what === 'needs' ? needs : (produces[what] ?? [])).map(artifactLabel),
  );

describe('draft', () => {
  const { definition, codes } = compiled('draft', ['spec.md', 'my-slug']);

  test('draft is accepted without warnings', () => {
    expect(codes).toEqual([]);
    expect(`${definition.id}@${definition.version}`).toBe('template.stage.draft@v1');
    expect(definition.policy?.missingProducer).toBe('wait');
  });

  test('draft runs from the worktree through the agent to the commit', () => {
    expect(chainOf(definition)).toEqual([
      'worktree_prepare',
      'resolve_prompt',
      'invoke_agent',
      'persist_plan',
      'stage_commit',
      'worktree_cleanup',
      'terminal',
    ]);
  });

  test('draft keeps any specification unchanged', () => {
    expect(nodeOf(definition, 'persist_plan').args['spec_text']).toBe(
      'Greet people by ${name} and {{ name }}.',
    );
    expect(nodeOf(definition, 'resolve_prompt').args['prompt_text']).toContain('{{persist_plan.spec_text}}');
  });

  test('the reply of the agent is the body of the plan', () => {
    const reply = nodeOf(definition, 'invoke_agent').produces?.succeeded?.map(artifactLabel);
    expect(reply).toEqual(['custom:plan_text:draft:my-slug']);
    expect(nodeOf(definition, 'persist_plan').needs?.map(artifactLabel)).toEqual(reply);
  });

  test('draft takes a specification without a file', () => {
    const inline = compiled('draft', [], { slug: 'my-slug', spec_text: 'Greet.' });
    expect(nodeOf(inline.definition, 'persist_plan').args['spec_text']).toBe('Greet.');
  });
});

describe('approve', () => {
  const { definition, codes } = compiled('approve', ['my-slug'], { stop_condition_script: 'npm test' });

  test('approve is accepted without warnings and waits for the plan of another run', () => {
    expect(codes).toEqual([]);
    expect(definition.policy?.missingProducer).toBe('wait');
  });

  test('approve runs from the worktree through agent and commit to the stop gate', () => {
    expect(chainOf(definition)).toEqual([
      'worktree_prepare',
      'resolve_prompt',
      'invoke_agent',
      'stage_commit',
      'stop_gate',
      'worktree_cleanup',
      'terminal',
    ]);
  });

  test('approve shows the plan of the branch to the agent', () => {
    expect(nodeOf(definition, 'resolve_prompt').args['prompt_text']).toContain(
      '{{file:.holdpoint/plans/my-slug.md}}',
    );
  });

  test('a failing script sends the agent back within the budget', () => {
    const gate = nodeOf(definition, 'stop_gate');
    expect(gate).toMatchObject({
      script: 'npm test',
      retry: { mode: 'until_gate', budget: 3 },
      onError: { strategy: 'recover' },
      on: { succeeded: ['worktree_cleanup'], failed: ['invoke_agent'] },
    });
    const twice = compiled('approve', ['my-slug'], { stop_condition_retries: '7' });
    expect(nodeOf(twice.definition, 'stop_gate').retry?.budget).toBe(7);
  });

  test('approve without a script has a gate without a script', () => {
    const without = compiled('approve', ['my-slug']);
    expect(nodeOf(without.definition, 'stop_gate').script).toBeUndefined();
  });
});

describe('merge', () => {
  const { definition, codes } = compiled('merge', ['my-slug'], {
    cicd_script: 'npm test',
    target_branch: 'main',
  });

  test('merge is accepted without warnings and waits for the approval of another run', () => {
    expect(codes).toEqual([]);
    expect(definition.policy?.missingProducer).toBe('wait');
  });

  test('merge runs from the integration through the CI gate to the end', () => {
    expect(chainOf(definition)).toEqual(['merge_integrate', 'merge_gate_cicd', 'terminal']);
  });

  test('merge is an effect', () => {
    expect(nodeOf(definition, 'merge_integrate').effect).toMatchObject({
      kind: 'merge',
      target: 'branch:main',
    });
  });

  test('the conflict gate runs only after a conflict and merges again', () => {
    const integrate = nodeOf(definition, 'merge_integrate');
    expect(integrate.on?.blocked).toEqual(['merge_conflict_resolution']);
    expect(integrate.produces?.blocked?.map(artifactLabel)).toEqual(['merge_sentinel:my-slug']);
    expect(nodeOf(definition, 'merge_conflict_resolution')).toMatchObject({
      autoResolve: true,
      agent: ['my-agent', '--print'],
      on: { succeeded: ['merge_integrate'] },
    });
  });

  test('a failing CI script runs again after the repair script', () => {
    const fixing = compiled('merge', ['my-slug'], {
      cicd_script: 'npm test',
      cicd_auto_resolve: 'true',
      cicd_auto_resolve_script: 'npm run fix',
      cicd_retries: '1',
    });
    expect(nodeOf(fixing.definition, 'merge_gate_cicd')).toMatchObject({
      script: 'npm test',
      fixScript: 'npm run fix',
      retry: { budget: 1 },
      onError: { strategy: 'recover' },
      on: { succeeded: ['terminal'], failed: ['merge_gate_cicd'] },
    });
    expect(nodeOf(definition, 'merge_gate_cicd').fixScript).toBeUndefined();
  });
});

test.each([
  ['draft', ['spec.md', 'my-slug'], ['invoke_agent']],
  ['approve', ['my-slug'], ['invoke_agent', 'stop_gate']],
  ['merge', ['my-slug'], ['merge_gate_cicd']],
  [
    'develop',
    ['spec.md', 'my-slug'],
    ['draft__invoke_agent', 'approve__invoke_agent', 'approve__stop_gate', 'merge__merge_gate_cicd'],
  ],
])('%s leaves failures of agents and gates to recovery', (name, positional, ids) => {
  const { nodes } = compiled(name, positional).definition;
  expect(nodes.filter(({ onError }) => onError?.strategy === 'recover').map(({ id }) => id)).toEqual(ids);
});

test('each stage waits for the artifacts of the stage before', () => {
  const set = { branch: 'draft/my-slug' };
  const draft = compiled('draft', ['spec.md', 'my-slug'], set).definition;
  const approve = compiled('approve', ['my-slug'], set).definition;
  const merge = compiled('merge', ['my-slug'], set).definition;
  const waited = (nodeOf(approve, 'worktree_prepare').needs ?? []).map(artifactLabel);
  expect(waited).toEqual(['plan_branch:my-slug (draft/my-slug)', 'plan_doc:my-slug (draft/my-slug)']);
  expect(labels(draft, 'succeeded')).toEqual(expect.arrayContaining(waited));
  expect(labels(merge, 'needs')).toEqual(['custom:stage_token:approve:my-slug']);
  expect(labels(approve, 'succeeded')).toContain('custom:stage_token:approve:my-slug');
});

test('hello is a complete workflow without an agent, accepted without warnings', () => {
  const { definition, codes } = compiled('hello', ['Ada']);
  expect(codes).toEqual([]);
  expect(definition.nodes.map(({ id, uses, effect }) => [id, uses, effect?.kind])).toEqual([
    ['greet', 'cap.file.append', 'write_external'],
    ['done', 'control.terminal', undefined],
  ]);
  expect(nodeOf(definition, 'greet').args).toEqual({ file: 'hello.txt', line: 'Hello, Ada.' });
});

describe('develop', () => {
  const { definition, codes } = compiled('develop', ['spec.md', 'my-slug'], {
    stop_condition_script: 'npm test',
    target_branch: 'main',
  });

  test('develop is accepted without warnings', () => {
    expect(codes).toEqual([]);
  });

  test('develop chains draft, approve and merge with all parameters', () => {
    const stages = chainOf(definition).map((id) => nodeOf(definition, id).stage);
    expect([...new Set(stages)]).toEqual(['draft', 'approve', 'merge']);
    expect(chainOf(definition)).toHaveLength(7 + 7 + 3);
    expect(nodeOf(definition, 'approve__stop_gate').script).toBe('npm test');
    for (const id of ['draft__worktree_prepare', 'approve__worktree_prepare', 'merge__merge_integrate'])
      expect(nodeOf(definition, id).args['slug']).toBe('my-slug');
  });

  test('develop keeps the prompts of its stages separate', () => {
    const prompts = labels(definition, 'succeeded').filter((label) => label.startsWith('custom:prompt_text'));
    expect(prompts).toEqual(['custom:prompt_text:draft:my-slug', 'custom:prompt_text:approve:my-slug']);
  });
});

test.each(['draft', 'approve', 'develop'])('%s is refused without a configured agent', (name) => {
  using repository = temporaryRepository();
  const { root } = repository;
  initRepository(root, { check: false });
  repository.write('spec.md', 'Greet.');
  const positional = name === 'approve' ? ['my-slug'] : ['spec.md', 'my-slug'];
  const { definition, problems } = compileWorkflow(root, name, positional);
  expect(definition).toBeUndefined();
  const errors = problems.filter(({ severity }) => severity === 'error').map(({ code }) => code);
  expect(new Set(errors)).toEqual(new Set(['WORKFLOW_AGENT_MISSING']));
});
