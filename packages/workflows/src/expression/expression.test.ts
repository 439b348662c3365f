import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { describe, expect, test } from 'vitest';
import {
  checkExpression,
  checkText,
  evaluateCondition,
  evaluateExpression,
  ExpressionError,
  renderText,
} from './expression.ts';

const scope: JsonObject = {
  inputs: { environment: 'staging', services: ['api', 'web'], count: 3, flag: true, empty: '', none: null },
  nodes: {
    build: {
      outputs: {
        digest: 'abc',
        jobs: [
          { name: 'B', ms: 30 },
          { name: 'a', ms: 10 },
        ],
      },
    },
  },
};
const value = (text: string): Json => evaluateExpression(text, scope);
const complaint = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
  return 'no complaint';
};

describe('values of expressions', () => {
  test.each<[string, Json]>([
    [`inputs.environment == 'staging'`, true],
    [`inputs['environment'] != "staging"`, false],
    [`'api' in inputs.services and not inputs.empty`, true],
    [`'x' not in inputs.services`, true],
    [`inputs.count > 2 and inputs.count <= 3`, true],
    [`inputs.count * 2 + 1 - 4 // 3`, 6],
    [`-7 % 3`, 2],
    [`2 ** 10 / 4`, 256],
    [`-inputs.count`, -3],
    [`inputs.environment ~ ':' ~ inputs.count`, 'staging:3'],
    [`'yes' if inputs.flag else 'no'`, 'yes'],
    [`'yes' if not inputs.flag`, null],
    [`inputs.empty or 'other'`, 'other'],
    [`inputs.services[0]`, 'api'],
    [`inputs.services[-1]`, 'web'],
    [`inputs.services[1:]`, ['web']],
    [`inputs.environment[::-1]`, 'gnigats'],
    [`inputs.environment[-4:-1]`, 'gin'],
    [`inputs.services + ['db']`, ['api', 'web', 'db']],
    [`[1, 'two', none, {'three': 3}]`, [1, 'two', null, { three: 3 }]],
    [`nodes.build.outputs.jobs | map(attribute='name') | sort | join(', ')`, 'a, B'],
    [`nodes.build.outputs.jobs | selectattr('ms', 'gt', 20) | map(attribute='name') | first`, 'B'],
    [`nodes.build.outputs.jobs | rejectattr('ms', '>', 20) | length`, 1],
    [`nodes.build.outputs.jobs | sort(attribute='ms', reverse=true) | last`, { name: 'a', ms: 10 }],
    [`[3, 1, 2] | sort | list`, [1, 2, 3]],
    [`[3, 1, 1] | unique | sum`, 4],
    [`[3, 1] | max - [3, 1] | min`, 2],
    [`'5 of 6' | int + 1`, 6],
    [`'x' | int(7)`, 7],
    [`2.345 | round(2)`, 2.35],
    [`inputs.environment.upper().startswith('STA')`, true],
    [`'a,b'.split(',') | length`, 2],
    [`'  a  b '.split()`, ['a', 'b']],
    [`'aXbX' | replace('X', '-')`, 'a-b-'],
    [`nodes.keys()`, ['build']],
    [
      `{'b': 1, 'a': 2}.items()`,
      [
        ['a', 2],
        ['b', 1],
      ],
    ],
    [`inputs.get('environment', 'none')`, 'staging'],
    [`{'b': 1, 'a': [true]} | tojson`, '{"a":[true],"b":1}'],
    [`inputs.count is number and inputs.count is odd`, true],
    [`inputs.services is sequence and inputs is mapping and inputs.none is none`, true],
    ['  inputs.count\n', 3],
    [`'\u{1F600}b' | length`, 2],
    [`'\u{1F600}b'[0] ~ '\u{1F600}b'[:1] ~ ('\u{1F600}b' | first)`, '\u{1F600}\u{1F600}\u{1F600}'],
  ])('the expression %s has the expected value', (text, expected) => {
    expect(value(text)).toEqual(expected);
  });

  test('values of different types are never equal', () => {
    const accidents = [
      `'' == 0`,
      `'0' == 0`,
      `'1' == true`,
      `1 == true`,
      `[1] == '1'`,
      `none == 0`,
      `inputs.nope == ''`,
    ];
    expect(accidents.map(value)).toEqual(accidents.map(() => false));
    expect(value(`[1, {'a': [2]}] == [1, {'a': [2]}]`)).toBe(true);
  });

  test('a missing member is undefined at any depth, and false', () => {
    expect(value('nodes.test.outputs.x.y')).toBeNull();
    expect(value('nodes.test.outputs.x is defined')).toBe(false);
    expect(value(`nodes.test.outputs.x | default('other')`)).toBe('other');
    expect(value(`inputs.none | default('other')`)).toBeNull();
    expect(value(`inputs.none | default('other', true)`)).toBe('other');
    expect(value('inputs.services[7] or false')).toBe(false);
    expect(value(`'x' in nodes.test.outputs`)).toBe(false);
  });

  test('empty, zero, null and missing values are false', () => {
    for (const text of ['[]', '{}', `''`, '0', 'none', 'false', 'inputs.nope']) {
      expect([text, evaluateCondition(text, scope)]).toEqual([text, false]);
    }
    for (const text of ['[0]', `{'a': 0}`, `' '`, '-1', 'true']) {
      expect([text, evaluateCondition(text, scope)]).toEqual([text, true]);
    }
  });

  test('an unknown name is an error with the nearest name', () => {
    expect(complaint(() => value('input.count'))).toBe(
      'the expression "input.count": there is no name "input": did you mean "inputs"?',
    );
    expect(complaint(() => value('zzz'))).toContain('there are inputs, nodes');
  });

  test.each([
    ['inputs.environment > 3', 'cannot compare a string with a number'],
    ['nodes.test.count > 3', 'cannot compare undefined (no such member) with a number'],
    [`'a' + 1`, '"~" joins other values'],
    ['1 / 0', 'a division by zero'],
    ['10 ** 400', 'no finite number'],
    ['true + 1', '"+" needs'],
    ['inputs.services.upper()', 'must be a text, not a list'],
    ['inputs[0]', 'has no members with a number as their key'],
    ['{1: 2}', 'object keys are texts'],
    [`[1, 'a'] | sort`, 'cannot compare'],
    [`'a'[::0]`, 'the step of a slice cannot be 0'],
    [`'\\ud83d'`, 'half a character'],
    [`{'\\ud83d': 1} | tojson`, 'half a character'],
  ])('%s is an error', (text, said) => {
    expect(complaint(() => value(text))).toContain(said);
  });

  test('the stored order of an object has no effect', () => {
    const one = { a: { x: 1, y: 2 } };
    const other = { a: { y: 2, x: 1 } };
    for (const text of [
      'a.keys()',
      'a | items',
      'a | list',
      'a | tojson',
      `'' ~ a`,
      'a | first',
      'a.values()',
    ]) {
      expect(evaluateExpression(text, one)).toEqual(evaluateExpression(text, other));
    }
  });
});

describe('refused expressions', () => {
  test.each([
    ['', 'is empty'],
    ['  ', 'is empty'],
    ['a b', 'does not parse'],
    ['a ==', 'does not parse'],
    ['a +', 'does not parse'],
    ['(a', '")" is missing'],
    ['a]', '"]" closes nothing'],
    [`'a`, 'does not parse'],
    ['a == and', 'is not a value'],
    ['a }}{{ b', 'does not parse'],
    ['a }} {% for x in y %}{{ x }}{% endfor %} {{ b', 'statements'],
    ['{% set a = 1 %}', 'statements'],
    ['range(10)', 'functions cannot be called'],
    ['namespace(a=1)', 'functions cannot be called'],
    [`raise_exception('x')`, 'functions cannot be called'],
    [`strftime_now('%Y')`, 'functions cannot be called'],
    ['inputs.a()()', 'functions cannot be called'],
    [`inputs['upper']()`, 'functions cannot be called'],
    ['a.lowr()', 'did you mean "lower"?'],
    ['a | indent(1000000000)', 'there is no filter "indent"'],
    ['a | lenght', 'did you mean "length"?'],
    ['a is defind', 'did you mean "defined"?'],
    [`a | default('b').c`, 'put a filter in parentheses'],
    [`a | join('a', 'b')`, '"join" takes only d'],
    [`a | join(x='a')`, '"join" takes only d'],
    [`a | join('a', d='b')`, 'gets d twice'],
    ['a | join(*b)', 'arguments cannot be unpacked'],
    ['a | join(**b)', 'arguments cannot be unpacked'],
  ])('the expression %s is refused', (text, said) => {
    expect(checkExpression(text)).toContain(said);
  });

  test.each([
    ['too many brackets', `${'('.repeat(33)}a${')'.repeat(33)}`, 'nested more than 32'],
    ['too deep a tree', `${'not '.repeat(200)}a`, 'more than 128 levels'],
    ['too long a text', 'a'.repeat(2_001), 'is 2001 characters long; the limit is 2000'],
  ])('an expression is refused: %s', (_what, text, said) => {
    expect(checkExpression(text)).toContain(said);
  });

  test('a valid expression has no problem, and names are checked only against a given list', () => {
    const text = `some.thing == '(' and {'k': other['}}'] | default(third) | length} if [fourth[fifth:]] else 1`;
    expect(checkExpression(text)).toBeUndefined();
    const names = ['some', 'other', 'third', 'fourth', 'fifth'];
    expect(checkExpression(text, new Set(names))).toBeUndefined();
    for (const name of names) {
      const others = new Set(names.filter((other) => other !== name));
      expect(checkExpression(text, others)).toContain(`there is no name "${name}"`);
      expect(checkText(`a {{ ${text} }}`, others)).toContain(`there is no name "${name}"`);
    }
  });
});

describe('texts', () => {
  test('expressions are rendered and the rest stays unchanged', () => {
    expect(renderText('deploy:{{ nodes.build.outputs.digest }}:{{inputs.count}}\n', scope)).toBe(
      'deploy:abc:3\n',
    );
    const script = '  x=${#name} # ${x%y} {a} }} {#\n\n';
    expect(renderText(script, scope)).toBe(script);
  });

  test('quotes and objects may contain closing braces', () => {
    expect(renderText(`{{ '}}' }}{{ {'a': {'b': 1}}.a.b }}{{ '{{' }}{{ '\\'}}' }}`, scope)).toBe(`}}1{{'}}`);
  });

  test('lists and objects render as JSON in a fixed order', () => {
    expect(renderText('{{ {"b": inputs.services, "a": inputs.flag} }}', scope)).toBe(
      '{"a":true,"b":["api","web"]}',
    );
  });

  test('a missing value is an error without a default', () => {
    expect(complaint(() => renderText('deploy:{{ nodes.build.outputs.digst }}', scope))).toContain(
      'no such member',
    );
    expect(complaint(() => renderText('{{ inputs.none }}', scope))).toContain('is null');
    expect(renderText(`deploy:{{ nodes.x.y | default('none') }}`, scope)).toBe('deploy:none');
  });

  test.each([
    ['a {{ b', '"}}" is missing after "{{ b"'],
    ['a {{ }}', 'is empty'],
    ['{% if a %}b{% endif %}', 'statements'],
    ['{{ a ==}}', 'does not parse'],
    ['{{- a -}}', 'white space control'],
  ])('%s is refused', (text, said) => {
    expect(checkText(text)).toContain(said);
    expect(complaint(() => renderText(text, scope))).toContain(said);
  });

  test('half a character is refused', () => {
    expect(complaint(() => renderText(`a{{ '\\ud83d' }}`, {}))).toContain('half a character');
  });

  test('a text of more than 64 KiB is refused', () => {
    expect(checkText(' '.repeat(65_536))).toBeUndefined();
    expect(checkText(' '.repeat(65_537))).toContain('is 65537 characters long');
  });

  test('a text without expressions is valid', () => {
    expect(checkText('echo "$HOME" {a,b}')).toBeUndefined();
  });
});
