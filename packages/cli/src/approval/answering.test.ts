import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import { describe, expect, test } from 'vitest';
import { watchApprovals } from './watch.ts';
import type { Client } from '../bus/client.ts';
import { createSession } from '../kit/session.ts';
import { type Answers, NOW, typeLine } from '../../testing/terminal.ts';

const EXAMPLES = join(import.meta.dirname, '../../../contracts/examples/api');
const {
  decidedBy: _by,
  decidedAt: _at,
  comment: _comment,
  answer: _answer,
  stuck: _stuck,
  body: _body,
  ...example
} = JSON.parse(readFileSync(join(EXAMPLES, 'approvals.get.response--stuck.json'), 'utf8')) as Record<
  string,
  unknown
>;

const CHOICE: InputRequest = {
  kind: 'choice',
  options: [
    { value: 'test', label: 'The test system' },
    { value: 'prod', label: 'prod' },
  ],
};
const TEXT: InputRequest = { kind: 'text', maxLength: 12 };
const FORM: InputRequest = {
  kind: 'form',
  fields: [
    { type: 'choice', name: 'env', label: 'Where to?', required: true, options: CHOICE.options },
    { type: 'number', name: 'percent', required: true, integer: true, min: 1, max: 100 },
    { type: 'boolean', name: 'watched', required: false },
    { type: 'text', name: 'why', help: 'For the record.', required: false },
  ],
};

const asked = (input: InputRequest, more: object = {}) => ({
  ...example,
  id: 'a-3',
  title: 'Ship \u202eit?',
  status: 'pending',
  expiresAt: NOW + 240_000,
  input,
  ...more,
});
const answered = { id: 'a-3', status: 'answered', by: 'ada' };
const type = (args: readonly string[], input: InputRequest, answers: Answers = {}) =>
  typeLine(['approvals', ...args], {
    'approvals.get': asked(input),
    'approvals.list': { items: [asked(input)] },
    'approvals.decide': answered,
    ...answers,
  });
const responded = async (input: InputRequest, ...args: readonly string[]) => {
  const { calls } = await type(['respond', 'a-3', ...args], input);
  return calls.at(-1);
};

describe('a question from a workflow is shown', () => {
  test.each<readonly [string, InputRequest, string]>([
    [
      'yes or no',
      { kind: 'approval' },
      'question from the workflow\n  wanted  yes or no\n  holdpoint approval answer a-3 --yes|--no\n',
    ],
    [
      'one of some',
      CHOICE,
      'question from the workflow\n  wanted  one of 2 options\n    1  test  The test system\n    2  prod\n  holdpoint approval answer a-3 --choice <value>\n',
    ],
    [
      'a text',
      TEXT,
      'question from the workflow\n  wanted  text of at most 12 characters\n  holdpoint approval answer a-3 --text <text>\n',
    ],
  ])('a question from a workflow shows %s', async (_, input, shown) => {
    const { out } = await type(['show', 'a-3'], input);
    expect(out).toContain(`\n${shown}`);
    expect(out).toContain('Ship \\u{202e}it?');
    expect(out).not.toMatch(/^(digest|arguments|effect)/m);
  });

  test('a form is shown with each field', async () => {
    const { out } = await type(['show', 'a-3'], FORM);
    expect(out).toMatch(/^ {4}env +one of test, prod +Where to\?$/m);
    expect(out).toMatch(/^ {4}percent +a whole number, at least 1, at most 100$/m);
    expect(out).toMatch(/^ {4}watched +yes or no, optional$/m);
    expect(out).toMatch(/^ {4}why +a text, optional +For the record\.$/m);
    expect(out).toContain('--field <name>=<value> …');
  });

  test('a question is shown with its text and the response', async () => {
    const more = {
      body: 'Look first.',
      status: 'answered',
      response: 'no\nstatus  approved',
      decidedBy: 'ada',
    };
    const { out } = await type(['show', 'a-3'], TEXT, { 'approvals.get': asked(TEXT, more) });
    expect(out).toContain('question\n  | Look first.\n');
    expect(out).toContain('response\n  | no\n  | status  approved\n');
    expect(out).toMatch(/^status +answered with "no\\nstatus +approved" by ada/m);
    expect(out).not.toContain('holdpoint approval answer');
  });

  test('a list marks a question from a workflow', async () => {
    const { out } = await type(['list'], CHOICE);
    expect(out).toMatch(/^a-3 .* question from the workflow .* asks for one of 2 options/m);
  });
});

describe('approval answer with a response', () => {
  test.each<readonly [string, InputRequest, readonly string[], Json]>([
    ['yes', { kind: 'approval' }, ['--yes'], true],
    ['no', { kind: 'approval' }, ['--no'], false],
    ['an option', CHOICE, ['--choice', 'prod'], 'prod'],
    ['a text', TEXT, ['--text', ' as it is '], ' as it is '],
    ['JSON', FORM, ['--json', '{"env":"test","percent":5}'], { env: 'test', percent: 5 }],
    [
      'fields with typed values',
      FORM,
      ['--field', 'env=prod', '--field', 'percent=10', '--field', 'watched=no', '--field', 'why='],
      { env: 'prod', percent: 10, watched: false },
    ],
    ['fields as JSON', FORM, ['--field', 'env=prod', '--field', 'percent:=7'], { env: 'prod', percent: 7 }],
    [
      'an invalid value, which the service refuses',
      FORM,
      ['--field', 'percent=five', '--field', 'more=1'],
      { percent: 'five', more: '1' },
    ],
  ])('approval answer sends %s', async (_, input, args, response) => {
    expect(await responded(input, ...args, '--comment', 'as we said')).toEqual([
      'approvals.decide',
      { id: 'a-3', decision: 'respond', response, comment: 'as we said', digest: example['digest'] },
    ]);
  });

  test('approval answer prints the response, or the API response as JSON', async () => {
    const { out } = await type(['respond', 'a-3', '--choice', 'prod'], CHOICE);
    expect(out).toMatch(/^a-3 is answered with "prod" by ada\n {2}t-.*: asks for one of 2 options\n$/);
    const json = await type(['respond', 'a-3', '--yes', '--json'], { kind: 'approval' });
    expect(JSON.parse(json.out)).toEqual(answered);
  });

  test.each([
    [[]],
    [['--json']],
    [['--yes', '--no']],
    [['--text', 'x', '--choice', 'y']],
    [['--json', '{']],
    [['--field', 'env']],
  ])('approval answer refuses %j', async (args) => {
    expect(await type(['respond', 'a-3', ...args], TEXT)).toMatchObject({ code: 2, calls: [] });
  });

  test('approval answer reports a response that does not fit', async () => {
    const { code, err } = await type(['respond', 'a-3', '--choice', 'moon'], CHOICE, {
      'approvals.decide': new HoldpointError('APPROVALS_RESPONSE_INVALID', 'one of test, prod'),
    });
    expect({ code, err }).toEqual({
      code: 1,
      err: 'error APPROVALS_RESPONSE_INVALID: one of test, prod\n',
    });
  });
});

describe('a question at a terminal', () => {
  const watched = async (
    input: InputRequest,
    typed: readonly (string | undefined)[],
    decided: unknown = answered,
  ) => {
    const said: unknown[] = [];
    const prompts: string[] = [];
    let out = '';
    const client = {
      canDecide: true,
      call: async (_: string, endpoint: string, payload: unknown) => {
        if (endpoint === 'list') return { items: [asked(input)] };
        if (endpoint === 'whoami')
          return { name: 'grace', groups: ['operators'], roles: [], scopes: ['approvals:decide'] };
        said.push((payload as { response: unknown }).response);
        if (decided instanceof Error) throw decided;
        return decided;
      },
    } as unknown as Client;
    const terminal = {
      columns: 80,
      ansi: false,
      colour: false,
      ask: async (prompt: string) => (prompts.push(prompt), typed[prompts.length - 1]),
    };
    const { session } = createSession(
      {
        connect: () => Promise.resolve(client),
        out: (text) => (out += text),
        err: () => undefined,
        now: () => NOW,
        terminal,
      },
      [],
      () => false,
    );
    await watchApprovals(client, session, { once: true });
    return { out, prompts, said };
  };

  test.each<readonly [InputRequest, readonly string[], Json]>([
    [{ kind: 'approval' }, ['y'], true],
    [{ kind: 'approval' }, ['No'], false],
    [CHOICE, ['2'], 'prod'],
    [CHOICE, ['the test system'], 'test'],
    [TEXT, ['as it is'], 'as it is'],
    [FORM, ['1', '10', '', 'because'], { env: 'test', percent: 10, why: 'because' }],
  ])('the terminal asks %j and sends the typed response', async (input, typed, response) => {
    const { said, prompts, out } = await watched(input, typed);
    expect(said).toEqual([response]);
    expect(prompts).toHaveLength(typed.length);
    expect(out).toContain('a-3 is answered with');
  });

  test('the terminal asks again after an invalid response, with the problem', async () => {
    const { prompts, said } = await watched(FORM, ['moon', 'prod', '5.5', '5', 'perhaps', 'yes', undefined]);
    expect(prompts).toEqual([
      'Where to? [one of test, prod] ',
      '! env: one of test, prod: Where to? [one of test, prod] ',
      'percent [a whole number, at least 1, at most 100] ',
      '! percent: enter a whole number: percent [a whole number, at least 1, at most 100] ',
      'watched [yes or no, empty: skip] ',
      '! watched: enter true or false: watched [yes or no, empty: skip] ',
      'why [a text, empty: skip] ',
    ]);
    expect(said).toEqual([{ env: 'prod', percent: 5, watched: true }]);
  });

  test.each<readonly [InputRequest, readonly (string | undefined)[]]>([
    [{ kind: 'approval' }, ['']],
    [{ kind: 'approval' }, Array.from({ length: 9 }, () => 'perhaps')],
    [CHOICE, [undefined]],
    [TEXT, [' ']],
    [FORM, ['prod', '']],
  ])('%j stays pending without a valid answer: %j', async (input, typed) => {
    const { said, out, prompts } = await watched(input, typed);
    expect(said).toEqual([]);
    expect(out).toContain('still pending');
    expect(prompts.length).toBeLessThanOrEqual(5);
  });

  test('a refused response is printed as a line', async () => {
    const { out } = await watched(
      TEXT,
      ['hello'],
      new HoldpointError('APPROVALS_ALREADY_DECIDED', 'somebody was faster'),
    );
    expect(out).toContain('APPROVALS_ALREADY_DECIDED');
  });
});
