import type { SubmitTask } from '@holdpoint/contracts/task';
import { definitionProblems } from '@holdpoint/workflows/definition-problems';
import { shippedFiles } from '@holdpoint/workflows/files/shipped';
import { describe, expect, test } from 'vitest';
import { findWorkflow } from './catalog.ts';
import { stageWorkflows } from './stages.ts';

const workflows = stageWorkflows(shippedFiles());
const asked = (workflow: string, inputs: SubmitTask['inputs'] = {}) =>
  findWorkflow(workflows, workflow)?.define({ workflow, goal: 'greet people', inputs });

const AGENT = { slug: 'greeting', agent: ['my-agent', '--print'] };

describe('the stages, for whoever has no file', () => {
  test('are the four that ship', () => {
    expect(workflows.map(({ id }) => id)).toEqual(['draft', 'approve', 'merge', 'develop']);
  });

  test.each([
    ['draft', AGENT],
    ['approve', AGENT],
    ['merge', { slug: 'greeting' }],
    ['develop', AGENT],
  ])('%s is a definition that can be run', (name, inputs) => {
    const made = asked(name, inputs);
    if (made === undefined || 'problems' in made) throw new Error(JSON.stringify(made));
    expect(definitionProblems(made).filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('the goal is the specification, unless there is another', () => {
    expect(JSON.stringify(asked('draft', AGENT))).toContain('greet people');
    const other = JSON.stringify(asked('draft', { ...AGENT, spec_text: 'say goodbye' }));
    expect(other).toContain('say goodbye');
    expect(other).not.toContain('greet people');
  });

  test('an agent runs by the command that is given with the inputs', () => {
    expect(JSON.stringify(asked('draft', AGENT))).toContain('"agent":["my-agent","--print"]');
  });

  test.each([
    ['without an agent', 'draft', { slug: 'greeting' }, 'WORKFLOW_AGENT_MISSING'],
    ['with a name that no parameter has', 'merge', { slug: 'x', squish: true }, 'squish'],
    ['with nothing to merge', 'merge', {}, 'WORKFLOW_'],
  ])('%s it is refused, with what is wrong', (_, name, inputs, problem) => {
    expect(asked(name, inputs)).toEqual({
      problems: expect.arrayContaining([expect.stringContaining(problem)]) as string[],
    });
  });
});
