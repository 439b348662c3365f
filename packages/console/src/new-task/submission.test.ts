import type { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import { describe, expect, test } from 'vitest';
import { ANY_INPUTS, NOTHING_TYPED, placed, submissionOf, type Typed } from './submission.ts';

const stage: OfferedWorkflow = {
  id: 'merge',
  version: '1',
  kind: 'built_in',
  repository: 'needed',
  inputs: [
    { type: 'list', name: 'agent', label: 'Agent', required: true },
    { type: 'text', name: 'slug', label: 'Short name', required: false },
    { type: 'text', name: 'branch', label: 'Branch', required: false },
    { type: 'number', name: 'retries', required: false, integer: true, min: 0, default: 3 },
    { type: 'boolean', name: 'squash', required: false, default: true },
    { type: 'choice', name: 'method', required: false, options: [{ value: 'POST', label: 'POST' }] },
    { type: 'json', name: 'headers', required: false },
  ],
};
const program: OfferedWorkflow = { id: 'reply', version: '2', kind: 'program', repository: 'optional' };
const ID = 't-1';
const typed = (inputs: Typed['inputs'], more: Partial<Typed> = {}): Typed => ({
  ...NOTHING_TYPED,
  goal: ' merge it ',
  repository: '/srv/app',
  ...more,
  inputs,
});
const sent = (...[workflow, said]: readonly [OfferedWorkflow, Typed]) => {
  const made = submissionOf(workflow, said, ID);
  return 'submission' in made ? made.submission : made.problems.byField;
};

describe('the submitted form', () => {
  test('values are sent as texts, numbers, booleans, lists and JSON, without untouched fields', () => {
    expect(
      sent(
        stage,
        typed({
          agent: 'my-agent\n--print\n\n',
          slug: 'greeting',
          retries: '5',
          squash: 'false',
          method: 'POST',
          headers: '{"x": [1]}',
        }),
      ),
    ).toEqual({
      id: ID,
      workflow: 'merge@1',
      goal: 'merge it',
      repository: '/srv/app',
      inputs: {
        agent: ['my-agent', '--print'],
        slug: 'greeting',
        retries: 5,
        squash: false,
        method: 'POST',
        headers: { x: [1] },
      },
    });
    expect(sent(stage, typed({ agent: 'a', slug: ' ', retries: '' }))).toMatchObject({
      inputs: { agent: ['a'] },
    });
  });

  test.each<readonly [Typed['inputs'], Partial<Typed>, Readonly<Record<string, string>>]>([
    [{}, { goal: ' ', repository: '' }, { goal: 'Required.', repository: 'Required.', agent: 'Required.' }],
    [{ agent: 'a' }, { repository: 'app' }, { repository: 'Enter an absolute path, starting with /.' }],
    [{ agent: 'a', retries: '0x10' }, {}, { retries: 'enter a number' }],
    [{ agent: 'a', retries: '1.5' }, {}, { retries: 'enter a whole number' }],
    [{ agent: 'a', retries: '-1' }, {}, { retries: 'at least 0' }],
    [{ agent: 'a', method: 'BREW' }, {}, { method: 'one of POST' }],
    [{ agent: 'a', headers: '{' }, {}, { headers: expect.stringMatching(/^Invalid JSON: /) as string }],
  ])('the error of %j and %j belongs to its field', (inputs, more, problems) => {
    expect(sent(stage, typed(inputs, more))).toEqual(problems);
  });

  test('a workflow without declared inputs takes any object', () => {
    expect(sent(program, typed({ [ANY_INPUTS]: '{"who": "ada"}' }, { repository: '' }))).toEqual({
      id: ID,
      workflow: 'reply@2',
      goal: 'merge it',
      inputs: { who: 'ada' },
    });
    expect(sent(program, typed({}, { repository: '' }))).not.toHaveProperty('inputs');
    expect(sent(program, typed({ [ANY_INPUTS]: '[1]' }))).toHaveProperty(ANY_INPUTS);
  });

  test('a workflow without repository is sent without one, and criteria are lines', () => {
    const plain: OfferedWorkflow = { ...stage, repository: 'unused', inputs: [] };
    expect(sent(plain, typed({}, { criteria: 'tests pass\n\n it is short ' }))).toEqual({
      id: ID,
      workflow: 'merge@1',
      goal: 'merge it',
      acceptanceCriteria: ['tests pass', 'it is short'],
    });
  });
});

describe('errors of the service', () => {
  test.each<readonly [string, string, string]>([
    ['inputs.slug: Invalid input', 'slug', 'Invalid input'],
    ['nodes.1.args.headers: a header that Holdpoint sets', 'headers', 'a header that Holdpoint sets'],
    ['goal: Too big', 'goal', 'Too big'],
    [
      'nodes[draft].agent: error WORKFLOW_AGENT_MISSING: found none; expected a command',
      'agent',
      'error WORKFLOW_AGENT_MISSING: found none; expected a command',
    ],
    [
      'merge.toml nodes[x].args: error WORKFLOW_INPUT_MISSING: found nothing; expected one of branch, plan, slug: give --branch VALUE',
      'branch',
      'Choose one of: Branch, Short name',
    ],
  ])('%j is shown beside %s', (problem, field, text) => {
    expect(placed(stage, [problem])).toEqual({ byField: { [field]: text }, others: [] });
  });

  test('errors without a field are shown at the top, and the first error of a field beside it', () => {
    const problems = ['nothing works', 'inputs.slug: one', 'inputs.slug: two', 'nodes.constructor: no'];
    expect(placed(stage, problems)).toEqual({
      byField: { slug: 'one' },
      others: ['nothing works', 'nodes.constructor: no'],
    });
  });
});
