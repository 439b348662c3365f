import { BODY_MAX } from '@holdpoint/contracts/approval/commands';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkTemplate, ExpressionError, renderTemplate } from './expression.ts';

const scope: JsonObject = {
  task: { goal: 'ship it', inputs: { env: 'staging' }, note: null },
  jobs: [
    { name: 'api', ok: true },
    { name: 'web', ok: false },
    { name: 'db', ok: true },
  ],
  sizes: { b: 2, a: 1 },
  empty: [],
};
const rendered = (text: string, of: JsonObject = scope): string => renderTemplate(text, of);
const complaint = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
  return 'no complaint';
};

const outcome = (text: string): string => {
  let made = '';
  const said = complaint(() => {
    made = rendered(text);
  });
  return said === 'no complaint' ? `made ${made}` : `refused ${said}`;
};

describe('rendered templates', () => {
  test.each([
    ['{{ task.goal }} to {{ task.inputs.env }}', 'ship it to staging'],
    ['{% if task.goal %}yes{% else %}no{% endif %}', 'yes'],
    ['{% if empty %}a{% elif task.note %}b{% elif sizes.a == 1 %}c{% else %}d{% endif %}', 'c'],
    ['{% if empty %}a{% endif %}', ''],
    ['{% for job in jobs %}{{ loop.index }}{{ job.name }} {% endfor %}', '1api 2web 3db '],
    [
      '{% for j in jobs %}{{ j.name }}{% if not loop.last %}, {% endif %}{% endfor %} ({{ jobs | length }})',
      'api, web, db (3)',
    ],
    [
      '{% for j in jobs %}{% if loop.first %}{{ loop.length }}:{% endif %}{{ loop.index0 }}{% endfor %}',
      '3:012',
    ],
    ['{% for j in jobs if j.ok %}{{ loop.index }}{{ j.name }}{% endfor %}', '1api2db'],
    ['{% for j in jobs if j.gone %}x{% else %}none{% endfor %}', 'none'],
    ['{% for j in empty %}x{% else %}none{% endfor %}', 'none'],
    ['{% for j in task.gone %}x{% else %}none{% endfor %}', 'none'],
    ['{% for j in task.note %}x{% else %}none{% endfor %}', 'none'],
    ['{% for key in sizes %}{{ key }}{% endfor %}', 'ab'],
    ['{% for key, size in sizes.items() %}{{ key }}={{ size }};{% endfor %}', 'a=1;b=2;'],
    [
      '{% for a in [1, 2] %}{% for b in [3, 4] %}{{ a * b }} {% endfor %}{{ loop.index }};{% endfor %}',
      '3 4 1;6 8 2;',
    ],
    ['{% set x = task.goal %}{{ x | upper }}', 'SHIP IT'],
    ['{% set x %}a{{ sizes.a }}{% endset %}{{ x }}{{ x }}', 'a1a1'],
    ['{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}', '2'],
    ['{% set x = 1 %}{% for a in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}', '21'],
    ['{% set x = {"a": 1} %}{{ x.a == 1 }}', 'true'],
    ['a{# {{ nothing }} {% nor this %} #}b', 'ab'],
    ['a \n {{- 1 -}} \n b', 'a1b'],
    ['a \n {%- if true -%} \n b \n {%- endif %} c', 'ab c'],
    ['a {#- so -#} b', 'ab'],
    ['{{ 1 }} \n{{- " x" }}', '1 x'],
    ['{{ task.note }}{{ task.gone.deeper }}|', '|'],
    [`{{ '%}' }}{% if '%}' == "%}" %}{{ '}}' }}{% endif %}`, '%}}}'],
    ['{{ {"a": {"b": 1}} }}', '{"a":{"b":1}}'],
    ['a } }} %} #} { b\n', 'a } }} %} #} { b\n'],
    ['{{ jobs }}', '[{"name":"api","ok":true},{"name":"web","ok":false},{"name":"db","ok":true}]'],
    [`{{ 'one two three' | truncate(9) }}`, 'one two…'],
    [`{{ 'one two three' | truncate(9, true, '..') }}`, 'one two..'],
    [`{{ 'onetwothree' | truncate(4) }}{{ 'short' | truncate(5) }}`, 'one…short'],
  ])('the template %s renders', (text, expected) => {
    expect(checkTemplate(text, new Set(Object.keys(scope)))).toBeUndefined();
    expect(rendered(text)).toBe(expected);
  });

  test('rendering is deterministic and leaves the scope unchanged', () => {
    const before = JSON.stringify(scope);
    const text =
      '{% set task = 1 %}{% for sizes in jobs %}{{ sizes.name }}{{ task }}{% endfor %}{{ sizes.a }}';
    expect(rendered(text)).toBe('api1web1db11');
    expect(rendered(text, structuredClone(scope))).toBe(rendered(text));
    expect(JSON.stringify(scope)).toBe(before);
  });

  test('rendered values are not evaluated again', () => {
    const hostile = `{{ secret }}{% for x in secret %}{{ x }}{% endfor %}{# #}{%- set y = 1 -%} }} %} \${secret}`;
    const around = { hostile, secret: 'no', list: [hostile], [hostile]: 1 };
    expect(rendered('{{ hostile }}', around)).toBe(hostile);
    expect(rendered('{% for x in list %}{{ x }}{% endfor %}', around)).toBe(hostile);
    expect(rendered('{% set y = hostile %}{{ y }}{{ y ~ "" }}', around)).toBe(hostile + hostile);
    expect(rendered('{% set y %}{{ hostile }}{% endset %}{{ y }}', around)).toBe(hostile);
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(rendered('<{{ value }}>', { value })).toBe(`<${value}>`);
      }),
    );
  });

  test('no name or member reaches the host', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'globalThis', 'process']) {
      expect(complaint(() => rendered(`{{ ${name} }}`))).toContain('there is no name');
      expect(rendered(`{{ task.${name} }}{{ task['${name}'].${name} }}`)).toBe('');
      expect(rendered(`{% for ${name} in jobs %}{{ ${name}.name }}{% endfor %}`)).toBe('apiwebdb');
      expect(rendered(`{% set ${name} = {'x': 1} %}{{ ${name}.x }}{{ sizes.x }}`)).toBe('1');
    }
    expect(({} as { x?: unknown }).x).toBeUndefined();
    const polluting = JSON.parse('{"o":{"__proto__":{"x":1}}}') as JsonObject;
    expect(
      rendered('{% set o = o %}{{ o.x }}{% for k, v in o.items() %}{{ k }}{% endfor %}', polluting),
    ).toBe('__proto__');
  });
});

describe('refused templates', () => {
  test.each([
    ['{% include "x" %}', 'there is no statement "include"'],
    ['{% import "x" as y %}', 'there is no statement "import"'],
    ['{% extends "x" %}', 'there is no statement "extends"'],
    ['{% macro x() %}{% endmacro %}', 'there is no statement "macro"'],
    ['{% call x() %}{% endcall %}', 'there is no statement "call"'],
    ['{% filter upper %}x{% endfilter %}', 'there is no statement "filter"'],
    ['{% raw %}x{% endraw %}', 'there is no statement "raw"'],
    ['{% break %}', 'there is no statement "break"'],
    ['{% generation %}', 'there is no statement "generation"'],
    ['{% iff x %}', 'did you mean "if"?'],
    ['{% %}', 'a statement begins with a keyword'],
    ['{% 1 %}', 'a statement begins with a keyword'],
    ['{% if true %}', '{% endif %} is missing'],
    ['{% if true %}{% else %}', '{% endif %} is missing'],
    ['{% for x in y %}', '{% endfor %} is missing'],
    ['{% set x %}', '{% endset %} is missing'],
    ['{% endif %}', '{% endif %} has no opening statement'],
    ['{% else %}', 'has no opening statement'],
    ['{% if true %}{% else %}{% else %}{% endif %}', 'has no opening statement'],
    ['{% if true %}{% else %}{% elif true %}{% endif %}', 'has no opening statement'],
    ['{% for x in y %}{% elif z %}{% endfor %}', 'has no opening statement'],
    ['{% if true %}{% for x in y %}{% endif %}{% endfor %}', 'has no opening statement'],
    ['{% if true %}{% endif x %}', '"endif" takes no argument'],
    ['{% if %}x{% endif %}', 'is empty'],
    ['{% if a b %}x{% endif %}', 'does not parse'],
    ['{% for x y %}{% endfor %}', 'write a loop as'],
    ['{% for x in y recursive %}{% endfor %}', 'does not parse'],
    ['{% for x.y in z %}{% endfor %}', 'is not a valid name'],
    ['{% for loop in z %}{% endfor %}', 'is not a valid name'],
    ['{% set true = 1 %}', 'is not a valid name'],
    ['{% set x.y = 1 %}', 'is not a valid name'],
    ['{% set x = %}', 'is empty'],
    ['{% set x = 1, 2 %}', 'does not parse'],
    ['{% set x | upper %}{% endset %}', 'is not a valid name'],
    ['{{ }}', 'is empty'],
    ['{{ a', '"}}" is missing'],
    ['{% if a', '"%}" is missing'],
    ['{# a', '"#}" is missing'],
    ['{{ range(9) }}', 'functions cannot be called'],
    [`${'{% if a %}'.repeat(33)}${'{% endif %}'.repeat(33)}`, 'nested more than 32 levels'],
    ['x'.repeat(1_048_576), 'is 1048576 characters long'],
    [`{{ ${'('.repeat(40)}1${')'.repeat(40)} }}`, 'nested more than 32'],
  ])('the template %s is refused', (text, said) => {
    expect(checkTemplate(text)).toContain(said);
    expect(complaint(() => rendered(text))).toContain(said);
  });

  test('elif does not add nesting levels', () => {
    const text = `{% if a == 0 %}0${Array.from({ length: 200 }, (_, at) => `{% elif a == ${String(at)} %}${String(at)}`).join('')}{% endif %}`;
    expect(rendered(text, { a: 150 })).toBe('150');
  });

  test.each([
    ['{{ taks.goal }}', 'did you mean "task"?'],
    ['{% if nope %}{% endif %}', 'there is no name "nope"'],
    ['{% if true %}{% elif nope %}{% endif %}', 'there is no name "nope"'],
    ['{% for x in nope %}{% endfor %}', 'there is no name "nope"'],
    ['{% for x in task if nope %}{% endfor %}', 'there is no name "nope"'],
    ['{% for x in task %}{{ nope }}{% endfor %}', 'there is no name "nope"'],
    ['{% for x in task %}{% else %}{{ x }}{% endfor %}', 'there is no name "x"'],
    ['{% for x in task %}{% endfor %}{{ x }}', 'there is no name "x"'],
    ['{% for x in task %}{% endfor %}{{ loop.index }}', 'there is no name "loop"'],
    ['{% for x in task %}{% set y = 1 %}{% endfor %}{{ y }}', 'there is no name "y"'],
    ['{% set y = y %}', 'there is no name "y"'],
    ['{% set y %}{{ y }}{% endset %}', 'there is no name "y"'],
    ['{% if task %}{% set y = 1 %}{% endif %}{{ y }}', 'there is no name "y"'],
  ])('a possibly missing name is refused: %s', (text, said) => {
    expect(checkTemplate(text, new Set(['task']))).toContain(said);
  });

  test.each([
    '{% set y = task %}{{ y }}',
    '{% if task %}{% set y = 1 %}{% else %}{% set y = 2 %}{% endif %}{{ y }}',
    '{% for x in task %}{{ x }}{{ loop.index }}{% set y = x %}{{ y }}{% endfor %}',
  ])('a name set on every branch is known: %s', (text) => {
    expect(checkTemplate(text, new Set(['task']))).toBeUndefined();
  });

  test('a checked template never fails for an unknown name', () => {
    const parts = fc.constantFrom(
      '{% set a = b %}',
      '{% set b = 1 %}',
      '{% if b %}',
      '{% else %}',
      '{% endif %}',
      '{% for a in l %}',
      '{% for c, d in l %}',
      '{% endfor %}',
      '{{ a }}',
      '{{ c }}',
      '{{ loop.index }}',
      '{% set a %}',
      '{% endset %}',
      'x',
    );
    let passed = 0;
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), fc.boolean(), (texts, full) => {
        const text = texts.join('');
        if (checkTemplate(text, new Set(['b', 'l'])) !== undefined) return;
        passed += 1;
        expect(complaint(() => rendered(text, { b: full, l: full ? [[1, 2]] : [] }))).not.toContain('name');
      }),
      { numRuns: 3_000 },
    );
    expect(passed).toBeGreaterThan(100);
  });
});

describe('limits', () => {
  const many: Json[] = Array.from({ length: 60_000 }, (_, at) => at);
  const large: JsonObject = {
    many,
    long: 'a'.repeat(60_000),
    ten: 'a'.repeat(10),
    some: many.slice(0, 3_000),
  };

  test.each([
    ['a loop in a loop', '{% for a in many %}{% for b in many %}{% endfor %}{% endfor %}', 'too many steps'],
    [
      'three loops that print',
      '{% for a in some %}{% for b in some %}x{% endfor %}{% endfor %}',
      'exceeds 32768',
    ],
    ['a loop that sets', '{% for a in some %}{% set b = some %}{% endfor %}', 'too many steps'],
    [
      'a loop that keeps texts',
      '{% for a in many %}{% set b %}{{ long[:99] }}{% endset %}{% endfor %}',
      'too many steps',
    ],
    ['a filter of a loop', '{% for a in many if a in many %}{% endfor %}', 'too many steps'],
    ['a text many times', '{% for a in many %}{{ long }}{% endfor %}', 'exceeds 32768'],
    ['a long text', '{{ long }}', 'exceeds 32768'],
    ['a value that doubles', '{% set a = [1] %}' + '{% set a = [a, a] %}'.repeat(40), 'gives more than'],
    ['a text that doubles', '{% set a = "x" %}' + '{% set a = a ~ a %}'.repeat(40), 'gives more than'],
    ['a value that grows deeper', '{% set a = [] %}' + '{% set a = [a] %}'.repeat(3_000), 'levels'],
    [
      'many names in a loop',
      Array.from({ length: 900 }, (_, at) => `{%set b${String(at)}=1%}`).join('') +
        '{% for a in many %}{% endfor %}',
      'too many steps',
    ],
  ])('%s ends with an error', (_what, text, said) => {
    expect(checkTemplate(text, new Set(Object.keys(large)))).toBeUndefined();
    expect(complaint(() => rendered(text, large))).toContain(said);
  });

  test('the length limit is exact', () => {
    const text = '{% for a in some %}{{ ten }}{% endfor %}';
    expect(renderTemplate(text, large, 30_000)).toHaveLength(30_000);
    expect(complaint(() => renderTemplate(text, large, 29_999))).toContain('exceeds 29999');
    expect(renderTemplate('x'.repeat(BODY_MAX), {})).toHaveLength(BODY_MAX);
    expect(complaint(() => renderTemplate('x'.repeat(BODY_MAX + 1), {}))).toContain('exceeds 32768');
  });

  test('half a character is refused', () => {
    expect(complaint(() => rendered(`a{{ '\\ud83d' }}`))).toContain('half a character');
  });

  test('every template gives a text or an ExpressionError, deterministically', () => {
    const pieces = fc.constantFrom(
      '{{',
      '}}',
      '{%',
      '%}',
      '{#',
      '#}',
      '{%-',
      '-%}',
      ' if ',
      ' for x in ',
      ' set ',
      'y',
      '=',
      'else',
      'elif',
      'endif',
      'endfor',
      'endset',
      'task',
      'jobs',
      '.',
      '|',
      '"',
      "'",
      '(',
      ')',
      '[',
      '1',
      ' ',
      '\n',
      '\\',
      'loop',
      '\u{1F600}',
      '__proto__',
    );
    const hostile = fc.oneof(
      fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join('')),
      fc.string({ unit: 'binary', maxLength: 60 }),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        const refused = checkTemplate(text);
        const once = outcome(text);
        expect(outcome(text)).toBe(once);
        expect(refused === undefined || once.startsWith('refused')).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});
