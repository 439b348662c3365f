import assert from 'node:assert/strict';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import {
  checkExpression,
  checkText,
  evaluateCondition,
  evaluateExpression,
  ExpressionError,
  renderText,
} from '@holdpoint/workflows/expression/expression';
import fc from 'fast-check';
import { EXPRESSIONS } from '../../hostile/definitions.ts';
import { longText, nastyString } from '../../hostile/strings.ts';
import { isStorable, keepsPrototypesClean, sameJson } from '../../promises.ts';
import { target } from '../../target.ts';
import { type Text, textOf } from '../../text.ts';

type Input = { readonly text: Text; readonly scope: JsonObject };

const WORDS = [
  ...EXPRESSIONS,
  'inputs',
  'nodes',
  'outputs',
  'item',
  'x',
  '__proto__',
  'constructor',
  '0',
  '1',
  '1e308',
  '-1',
  '0.1',
  '"a"',
  "'b'",
  '""',
  'true',
  'none',
  '[1, 2]',
  '{"a": 1}',
  '.',
  '.x',
  '["x"]',
  '[0]',
  '[-1:]',
  '[::0]',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '+',
  '-',
  '*',
  '**',
  '/',
  '//',
  '%',
  '~',
  '==',
  '!=',
  '<',
  '>=',
  'and',
  'or',
  'not',
  'in',
  'is',
  'if',
  'else',
  '| length',
  '| join',
  '| sort',
  '| map(attribute="x")',
  '| default(1)',
  '| tojson',
  '| replace("a", "aa")',
  '| groupby("x")',
  '| unknown',
  'defined',
  'is defined',
  '.split(",")',
  '.items()',
  '.x.y.z',
  '{{',
  '}}',
  '{%',
  '%}',
  '{#',
  '\\',
  '"',
  '`',
  '\0',
];

const chain = fc
  .array(
    fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...WORDS) }, { weight: 1, arbitrary: nastyString }),
    { minLength: 1, maxLength: 12 },
  )
  .map((words): Text => words.join(' '));
/** Well-formed expressions: most have a value or fail only at evaluation. */
const { sound } = fc.letrec<{ sound: string }>((tie) => ({
  sound: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(
      'inputs',
      'inputs.list',
      'x',
      'item.x',
      'outputs.text',
      'outputs.exit_code',
      '1',
      '"a"',
      '[]',
      'none',
      '{"a": [1]}',
    ),
    fc
      .tuple(tie('sound'), fc.constantFrom('+', '*', '~', '==', '<', 'and', 'in', '%', '**'), tie('sound'))
      .map((parts) => `(${parts.join(' ')})`),
    fc
      .tuple(
        tie('sound'),
        fc.constantFrom(
          'length',
          'join',
          'sort',
          'list',
          'first',
          'upper',
          'tojson',
          'unique',
          'default("d")',
          'map(attribute="x")',
        ),
      )
      .map(([of, filter]) => `(${of} | ${filter})`),
    tie('sound').map((of) => `not ${of}`),
    fc.tuple(tie('sound'), tie('sound')).map(([of, key]) => `(${of})[${key}]`),
    fc.tuple(tie('sound'), tie('sound')).map((members) => `[${members.join(', ')}]`),
  ),
}));
const deep = fc
  .tuple(
    fc.constantFrom('(', '[', '{"a":', 'not ', '-', '1+', 'x.', 'x|length|', 'x if x else '),
    fc.constantFrom(50, 500, 100_000),
  )
  .map(([repeat, times]): Text => ({ repeat, times }));

const scope = fc.record(
  {
    inputs: fc.constantFrom<JsonObject>(
      {},
      { list: [1, 'two', null], x: 'y' },
      JSON.parse('{"__proto__":{"x":1}}') as JsonObject,
    ),
    x: fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as JsonObject),
    item: fc.constantFrom<JsonObject>({ x: 1 }, { a: ['b'] }),
    outputs: fc.constant({ exit_code: 1, text: 'a'.repeat(1_000) }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

/** A value or one error that names the expression, within a bounded time. */
const said = (work: () => unknown): { readonly value: unknown } | undefined => {
  try {
    return { value: work() };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    assert.ok(error.message.length < 4_096);
    return undefined;
  }
};

/** Far above the evaluation limits, far below an endless loop. */
const LONG_MS = 5_000;

/** Any text is an expression with a deterministic value, or is refused. */
export const expressions = target<Input>({
  name: 'expressions',
  runs: 500,
  reaches: ['accepted', 'ExpressionError'],
  cases: {
    expressions: fc.record({
      text: fc.oneof(
        { weight: 12, arbitrary: sound },
        { weight: 8, arbitrary: chain },
        { weight: 1, arbitrary: nastyString },
        { weight: 1, arbitrary: longText },
        { weight: 1, arbitrary: deep },
      ),
      scope,
    }),
  },
  check: ({ text: kept, scope: known }) => {
    const text = textOf(kept);
    const before = JSON.stringify(known);
    const started = process.threadCpuUsage();
    const result = said(() => evaluateExpression(text, known));
    const again = said(() => evaluateExpression(text, known));
    const condition = said(() => evaluateCondition(text, known));
    const rendered = said(() => renderText(`a {{ ${text} }} b ${text}`, known));
    const wrong = checkExpression(text);
    checkText(text, new Set(Object.keys(known)));
    const { user, system } = process.threadCpuUsage(started);
    assert.ok((user + system) / 1_000 < LONG_MS);
    keepsPrototypesClean();
    assert.equal(JSON.stringify(known), before);
    assert.equal(result === undefined, again === undefined);
    if (rendered !== undefined) assert.equal(typeof rendered.value, 'string');
    if (wrong !== undefined) assert.equal(result, undefined);
    if (result === undefined) return 'ExpressionError';
    assert.equal(typeof condition?.value, 'boolean');
    assert.ok(isStorable(result.value) || !text.isWellFormed() || text.includes('\0'));
    assert.ok(!isStorable(result.value) || sameJson(result.value, again?.value));
    return 'accepted';
  },
});
