import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { shippedFiles } from '@holdpoint/workflows/files/shipped';
import { describe, expect, test } from 'vitest';
import { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import { builtIn, findWorkflow, offered } from './catalog.ts';
import { stageWorkflows } from './stages.ts';

const workflows = stageWorkflows(shippedFiles());
const asked = (workflow: string, inputs: SubmitTask['inputs'] = {}) =>
  findWorkflow(workflows, workflow)?.define({ workflow, goal: 'greet people', inputs });

const AGENT = { slug: 'greeting', agent: ['my-agent', '--print'] };

describe('the stage workflows', () => {
  test('there are four stage workflows', () => {
    expect(workflows.map(({ id }) => id)).toEqual(['draft', 'approve', 'merge', 'develop']);
  });

  test.each([
    ['draft', AGENT],
    ['approve', AGENT],
    ['merge', { slug: 'greeting' }],
    ['develop', AGENT],
  ])('%s is a valid definition', (name, inputs) => {
    const made = asked(name, inputs);
    if (made === undefined || 'problems' in made) throw new Error(JSON.stringify(made));
    expect(definitionProblems(made).filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test.each([
    [{ slug: ['x'] }, ['input slug: a text, a number, true or false']],
    [{ agent: 'my-agent' }, ['input agent: a list of texts']],
    [
      { slug: null, agent: [7] },
      ['input slug: a text, a number, true or false', 'input agent: a list of texts'],
    ],
  ])('the ill-typed inputs %j are refused, each with its name', (inputs, problems) => {
    expect(asked('draft', { ...AGENT, ...inputs })).toEqual({ problems });
  });

  test('an unknown input of a stage is refused', () => {
    expect(asked('draft', { ...AGENT, nosuch: 1 })).toEqual({
      problems: [expect.stringContaining('nosuch') as string],
    });
  });

  test('the goal is the default specification', () => {
    expect(JSON.stringify(asked('draft', AGENT))).toContain('greet people');
    const other = JSON.stringify(asked('draft', { ...AGENT, spec_text: 'say goodbye' }));
    expect(other).toContain('say goodbye');
    expect(other).not.toContain('greet people');
  });

  test('the agent input is the agent command', () => {
    expect(JSON.stringify(asked('draft', AGENT))).toContain('"agent":["my-agent","--print"]');
  });

  test.each([
    ['without an agent', 'draft', { slug: 'greeting' }, 'WORKFLOW_AGENT_MISSING'],
    ['with a name that no parameter has', 'merge', { slug: 'x', squish: true }, 'squish'],
    ['with nothing to merge', 'merge', {}, 'WORKFLOW_'],
  ])('%s: the submission is refused with its problems', (_, name, inputs, problem) => {
    expect(asked(name, inputs)).toEqual({
      problems: expect.arrayContaining([expect.stringContaining(problem)]) as string[],
    });
  });
});

describe('the offered workflows', () => {
  const shown = offered([...builtIn, ...workflows]);
  const offerOf = (name: string) => shown.find(({ id }) => id === name);

  test('the offered workflows fit the contract and leave out internal ones', () => {
    expect(shown.map(({ id }) => id)).toEqual(['sample', 'http', 'draft', 'approve', 'merge', 'develop']);
    for (const each of shown) expect(OfferedWorkflow.parse(each)).toEqual(each);
  });

  test.each(['draft', 'approve', 'merge', 'develop'])('%s is offered with every parameter', (name) => {
    const inputs = Object.fromEntries((offerOf(name)?.inputs ?? []).map((input) => [input.name, 'y']));
    const made = asked(name, { ...inputs, agent: ['my-agent'] });
    const problems = made !== undefined && 'problems' in made ? made.problems : [];
    expect(problems.filter((problem) => problem.includes('WORKFLOW_PARAM_UNKNOWN'))).toEqual([]);
    expect(offerOf(name)).toMatchObject({
      repository: 'needed',
      title: expect.stringMatching(/^[A-Z]\w+: /) as string,
    });
  });

  test('the type of a parameter follows from its default, and agents have their own input', () => {
    const merge = offerOf('merge')?.inputs ?? [];
    const typeOf = (name: string) => merge.find((input) => input.name === name);
    expect(typeOf('squash')).toMatchObject({ type: 'boolean', default: true });
    expect(typeOf('cicd_retries')).toMatchObject({ type: 'number', integer: true, default: 3 });
    expect(typeOf('cicd_script')).toMatchObject({ type: 'text', multiline: true });
    expect(typeOf('agent')).toMatchObject({ type: 'list', required: false });
    expect(offerOf('draft')?.inputs?.[0]).toMatchObject({ name: 'agent', required: true });
  });

  test('the shown defaults change nothing', () => {
    const defaults = Object.fromEntries(
      (offerOf('develop')?.inputs ?? []).flatMap((input) =>
        'default' in input && input.default !== undefined ? [[input.name, input.default]] : [],
      ),
    );
    expect(Object.keys(defaults)).toContain('squash');
    expect(asked('develop', { ...AGENT, ...defaults })).toEqual(asked('develop', AGENT));
  });
});
