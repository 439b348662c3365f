import { type InputField, inputProblems, type InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Closed, Pending } from '../../../approval/state.ts';
import { REQUESTED_AT, CHOICE, DEADLINE, FORM, inputFor } from '../../../../testing/requests.ts';
import { form } from '../interactions/responses.ts';
import { parseCustomId, type Press } from './custom-id.ts';
import { formTextsOf, responseFromTexts } from './input-form.ts';
import { messageOf } from './message.ts';
import { formFor, statementOf } from '../interactions/statement.ts';

const TOKEN = '0e9b2c5a-8f0e-4d53-9c57-6f6a8f1f4d11';

const pending = (input: InputRequest, change: Parameters<typeof inputFor>[1] = {}): Pending => {
  const request = inputFor(input, change);
  return {
    status: 'pending',
    request,
    requestedAt: REQUESTED_AT,
    expiresAt: DEADLINE,
    audience: request.audience,
    votes: [],
    reminders: 0,
    steps: 0,
    notified: [],
    refused: [],
  };
};
const answered = (input: InputRequest, response: Json): Closed => ({
  ...pending(input),
  status: 'closed',
  decided: { outcome: 'answered', by: 'ada', response, surface: 'cli', at: REQUESTED_AT + 1 },
});

const only = (state: Pending | Closed) => {
  const message = messageOf(state, TOKEN);
  const [embed] = message.embeds;
  if (embed === undefined) throw new Error('there is no embed');
  const fields = Object.fromEntries(embed.fields.map(({ name, value }) => [name, value]));
  const labels = message.components.map(({ components }) => components.map(({ label }) => label));
  return { ...message, embed, fields, labels };
};

const options = (...labels: readonly string[]): InputRequest => ({
  kind: 'choice',
  options: labels.map((label, i) => ({ value: `v${String(i)}`, label })),
});
const fieldsNamed = (count: number): InputField[] =>
  Array.from({ length: count }, (_, i) => ({ type: 'text', name: `f${String(i)}`, required: false }));

describe('a question of a program', () => {
  test('a yes-or-no question has a button for each answer', () => {
    const { embed, labels, fields, components } = only(pending({ kind: 'approval' }));
    expect(embed.title).toBe('A program asks: Ship it?');
    expect(labels).toEqual([['Yes', 'No']]);
    expect(fields).toMatchObject({ 'Asks for': 'yes or no' });
    expect(Object.keys(fields)).not.toContain('Target');
    const said = components.flatMap((row) =>
      row.components.map(({ custom_id: id }) => parseCustomId(id)?.press),
    );
    expect(said).toMatchObject([{ choice: 'approve' }, { choice: 'reject' }]);
  });

  test('a choice has a button for each option, up to 25', () => {
    expect(only(pending(CHOICE)).labels).toEqual([['The first', 'The second']]);
    const many = only(pending(options(...Array.from({ length: 25 }, (_, i) => `option ${String(i)}`))));
    expect(many.labels.map((row) => row.length)).toEqual([5, 5, 5, 5, 5]);
    expect(many.embed.description).toContain('25\\. option 24 (v24)');
  });

  test('options with similar labels have numbers', () => {
    expect(only(pending(options('same', 'same'))).labels).toEqual([['1. same', '2. same']]);
    const long = only(pending(options(`${'x'.repeat(90)}a`, `${'x'.repeat(90)}b`)));
    expect(long.labels[0]).toEqual([`1. ${'x'.repeat(75)} …`, `2. ${'x'.repeat(75)} …`]);
    expect(long.embed.description).toContain(`2\\. ${'x'.repeat(90)}b`);
  });

  test('a text question has a button that opens a form', () => {
    expect(only(pending({ kind: 'text' })).labels).toEqual([['Answer…']]);
    expect(only(pending({ kind: 'text', maxLength: 80 })).embed.description).toBe('At most 80 characters.');
  });

  test('a form question lists its fields and has a button', () => {
    const { labels, embed } = only(pending(FORM));
    expect(labels).toEqual([['Fill in…']]);
    expect(embed.description.split('\n')).toEqual([
      '• env: Where to?, one of test, prod',
      '• percent, a whole number, at least 1, at most 100',
      '• watched, yes or no, optional',
      '• why, a text of at most 500 characters, optional. For the record.',
    ]);
  });

  test('a form that is too large for Discord names the command instead', () => {
    const twice: InputField[] = [...fieldsNamed(1), ...fieldsNamed(1)];
    for (const fields of [fieldsNamed(6), twice]) {
      const message = only(pending({ kind: 'form', fields }));
      expect(message.components).toEqual([]);
      expect(message.fields['Answer']).toBe('on the command line: `holdpoint approval answer a-1`');
    }
    const tooLong = only(pending(CHOICE, { id: 'a'.repeat(64) as ReturnType<typeof inputFor>['id'] }));
    expect(tooLong.components).toEqual([]);
    expect(tooLong.fields['Answer']).toContain('holdpoint approval answer aaaa');
  });

  test('a long prompt is shown completely', () => {
    const { embed } = only(pending({ kind: 'text' }, { title: `${'very long '.repeat(30)}?`, body: 'more' }));
    expect(embed.description).toContain(`${'very long '.repeat(30)}?`);
    expect(embed.description).toContain('> more');
  });
});

describe('a response', () => {
  test.each<readonly [InputRequest, Json, string, string]>([
    [{ kind: 'approval' }, false, 'No', 'no'],
    [CHOICE, 'b', 'The second (b)', 'b'],
    [{ kind: 'text' }, '@all\n*now*', '> \\@all\n> \\*now\\*', '\\@all\\\\u\\{a\\}\\*now\\*'],
    [FORM, { env: 'prod' }, '```json\n{\n  "env": "prod"\n}\n```', 'a form'],
  ])('the response to %j, %j, is shown readably', (input, response, shown, short) => {
    const { embed, fields, components } = only(answered(input, response));
    expect(embed.title).toBe('Answered: Ship it?');
    expect(components).toEqual([]);
    expect(fields['Response']).toBe(shown);
    expect(fields['Decision']).toContain(`**Answered**: ${short}, by ada on the command line`);
  });

  test('a long response is cut with a command that shows all of it', () => {
    const { fields } = only(answered({ kind: 'text' }, 'x'.repeat(9_000)));
    expect(fields['Response']).toMatch(/x{500}.*cut; all of it: `holdpoint approval show a-1`/);
  });
});

describe('a Discord form', () => {
  const opened = (input: InputRequest) => {
    const { request } = pending(input);
    const named = { press: { does: 'open' } as const, id: request.id, token: TOKEN, digest: '' };
    return formFor(named, request);
  };

  test('a form has a text with a hint for each field', () => {
    expect(opened(FORM)).toMatchObject({
      type: 9,
      data: {
        components: [
          {
            label: 'Where to?',
            component: { custom_id: 'env', style: 1, required: true, placeholder: 'one of test, prod' },
          },
          { label: 'percent', component: { placeholder: 'a whole number, at least 1, at most 100' } },
          { label: 'watched', component: { required: false, placeholder: 'yes or no' } },
          { description: 'For the record.', component: { style: 2, max_length: 500 } },
        ],
      },
    });
    expect(opened({ kind: 'text', maxLength: 9_000 })).toMatchObject({
      data: { components: [{ component: { custom_id: 'answer', max_length: 4_000 } }] },
    });
  });

  test('questions with buttons have no form', () => {
    for (const input of [CHOICE, { kind: 'approval' } as const])
      expect(() => opened(input)).toThrow('altered');
  });

  const typed = (values: Readonly<Record<string, string>>): Json =>
    responseFromTexts(FORM, new Map(Object.entries(values)));

  test('submitted texts are parsed into the types of the fields', () => {
    const response = typed({ env: 'production', percent: ' 5 ', watched: 'No', why: ' ', comment: 'x' });
    expect(response).toEqual({ env: 'prod', percent: 5, watched: false });
    expect(inputProblems(FORM, response)).toEqual([]);
  });

  test('an invalid form lists its problems', () => {
    expect(inputProblems(FORM, typed({ env: 'moon', percent: 'five', watched: '' }))).toEqual([
      'env: one of test, prod',
      'percent: enter a number',
    ]);
  });
});

test('a button of another question is refused', () => {
  const { request } = pending({ kind: 'approval' });
  const presses: readonly Extract<Press, { does: 'pick' | 'fill' }>[] = [
    { does: 'pick', option: 0 },
    { does: 'fill' },
  ];
  const { input: _, ...effect } = request;
  for (const press of presses) expect(() => statementOf(press, effect, new Map())).toThrow('altered');
  expect(() => statementOf({ does: 'pick', option: 2 }, inputFor(CHOICE), new Map())).toThrow('altered');
  expect(statementOf({ does: 'pick', option: 1 }, inputFor(CHOICE), new Map())).toEqual({
    decision: 'respond',
    response: 'b',
  });
});

describe('large messages', () => {
  const long = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 30 })
    .chain((part) => fc.integer({ min: 1, max: 40 }).map((times) => part.repeat(times)));
  const field = fc.record({ label: long, help: long, value: long });
  const inputs: fc.Arbitrary<InputRequest> = fc.oneof(
    fc.array(field, { minLength: 1, maxLength: 25 }).map((all): InputRequest => ({
      kind: 'choice',
      options: all.map(({ label, value }) => ({ label: label.slice(0, 200), value: value.slice(0, 100) })),
    })),
    fc.array(field, { minLength: 1, maxLength: 25 }).map((all): InputRequest => ({
      kind: 'form',
      fields: all.map(({ label, help, value }, i) => ({
        type: 'choice',
        name: `${'f'.repeat(60)}${String(i)}`,
        label: label.slice(0, 200),
        help: help.slice(0, 500),
        required: true,
        options: [{ label: 'x', value: value.slice(0, 100) }],
      })),
    })),
  );

  test('message and form stay within Discord’s limits', () => {
    fc.assert(
      fc.property(inputs, long, long, (input, text, name) => {
        const state = pending(input, {
          title: text.slice(0, 500),
          body: text.repeat(40).slice(0, 32_768),
          requestedBy: name.slice(0, 200),
          audience: Array.from({ length: 50 }, (_, i) => `user:${name.slice(0, 190)}${String(i)}`),
          gate: name.slice(0, 140),
        });
        const closed: Closed = {
          ...state,
          status: 'closed',
          decided: { outcome: 'answered', by: name, comment: text, response: text, at: REQUESTED_AT },
        };
        for (const { embed, components } of [only(state), only(closed)]) {
          const texts = [embed.title, embed.description, embed.footer.text];
          const all = [...texts, ...embed.fields.flatMap((each) => [each.name, each.value])];
          expect(all.join('').length).toBeLessThanOrEqual(6_000);
          expect(all.filter((each) => each.trim() === '')).toEqual([]);
          expect(embed.title.length).toBeLessThanOrEqual(256);
          expect(embed.description.length).toBeLessThanOrEqual(4_096);
          for (const { value } of embed.fields) expect(value.length).toBeLessThanOrEqual(1_024);
          const buttons = components.flatMap((row) => row.components);
          expect(components.length).toBeLessThanOrEqual(5);
          for (const { label } of buttons) {
            expect(label.trim()).not.toBe('');
            expect(label.length).toBeLessThanOrEqual(80);
          }
        }
        const { data } = form('id', 'title', formTextsOf(input) ?? []);
        const { components } = data as { components: readonly Record<string, string>[] };
        expect(components.length).toBeLessThanOrEqual(5);
        for (const { label = '', description = '' } of components) {
          expect(label.length).toBeLessThanOrEqual(45);
          expect(description.length).toBeLessThanOrEqual(100);
        }
      }),
    );
  });
});
