import assert from 'node:assert/strict';
import { Gate } from '@holdpoint/contracts/workflow/gate';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import {
  checkExpression,
  checkTemplate,
  ExpressionError,
  renderTemplate,
} from '@holdpoint/workflows/expression/expression';
import { shippedGate } from '@holdpoint/workflows/files/shipped';
import { parseGate } from '@holdpoint/workflows/gate/parse';
import { gateNames } from '@holdpoint/workflows/gate/problems';
import { problemText } from '@holdpoint/workflows/problems/problem';
import { createReport } from '@holdpoint/workflows/problems/report';
import fc from 'fast-check';
import { longText, nastyString } from '../../hostile/strings.ts';
import { keepsPrototypesClean } from '../../promises.ts';
import { target } from '../../target.ts';
import { type Text, textOf } from '../../text.ts';

type Input = { readonly gate: Text } | { readonly template: Text; readonly scope: JsonObject };

const SHIPPED = shippedGate('approval_recovery_v2') ?? '';
const LINES = SHIPPED.split('\n');

const PIECES = [
  '- ',
  '? ',
  ': ',
  '[',
  ']',
  '{',
  '}',
  '|',
  '>',
  '&a ',
  '*a',
  '!!map ',
  '!x ',
  '%YAML 1.1',
  '---',
  '#',
  ',',
  '\n',
  '  ',
  '\t',
  '"',
  "'",
  '<<: *a',
  'id: a',
  'version: "1"',
  'inputs:',
  'policy: ',
  'quorum: 1',
  'timeout: 5m',
  '{{ effect.target }}',
  '{% for x in attempts %}',
  '{% if task %}',
  '{% endif %}',
  '__proto__: ',
  'when: ',
  '.nan',
  '0x10',
];

/** The shipped gate with lines removed, doubled, moved or added. */
const mutated = fc
  .array(
    fc.tuple(
      fc.nat(LINES.length - 1),
      fc.constantFrom('drop', 'double', 'indent', 'put'),
      fc.oneof(fc.constantFrom(...PIECES), nastyString),
    ),
    { minLength: 0, maxLength: 5 },
  )
  .map((changes): Text => {
    const lines = [...LINES];
    for (const [at, what, text] of changes) {
      const line = lines[at] ?? '';
      if (what === 'drop') lines.splice(at, 1);
      else if (what === 'double') lines.splice(at, 0, line);
      else lines[at] = what === 'indent' ? `  ${line}` : `${line}${text}`;
    }
    return lines.join('\n');
  });

const loose = fc
  .array(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: nastyString }),
    {
      maxLength: 40,
    },
  )
  .map((parts): Text => parts.join(''));

const gate: fc.Arbitrary<Input> = fc
  .oneof(
    { weight: 6, arbitrary: mutated },
    { weight: 3, arbitrary: loose },
    { weight: 1, arbitrary: longText },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Text>({ repeat: '[', times: 200_000 }, { repeat: '- ', times: 100_000 }),
    },
  )
  .map((text) => ({ gate: text }));

const STATEMENTS = [
  '{{',
  '}}',
  '{%',
  '%}',
  '{#',
  '#}',
  '{{-',
  '-%}',
  '{% if x %}',
  '{% elif y %}',
  '{% else %}',
  '{% endif %}',
  '{% for a in list %}',
  '{% for k, v in x.items() %}',
  '{% for a in list if a %}',
  '{% endfor %}',
  '{% set a = x %}',
  '{% set a %}',
  '{% endset %}',
  '{% set a = [a, a] %}',
  '{{ a }}',
  '{{ x.y }}',
  '{{ loop.index }}',
  '{{ list }}',
  '{% include "x" %}',
  '{% raw %}',
  "{{ '%}' }}",
  '{{ text | truncate(5) }}',
  '{{ __proto__ }}',
  'plain',
];
const template: fc.Arbitrary<Input> = fc.record({
  template: fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .array(
          fc.oneof(
            { weight: 9, arbitrary: fc.constantFrom(...STATEMENTS) },
            { weight: 1, arbitrary: nastyString },
          ),
          {
            maxLength: 25,
          },
        )
        .map((parts): Text => parts.join('')),
    },
    { weight: 1, arbitrary: longText },
  ),
  scope: fc.constantFrom<JsonObject>(
    { x: { y: 1 }, list: [1, 2, { a: null }], text: 'one two', a: 'a', y: null },
    { x: null, list: [], text: '{{ x }}{% if %}', a: [], y: true },
  ),
});

const rendered = (text: string, scope: JsonObject): string => {
  try {
    return `made ${renderTemplate(text, scope)}`;
  } catch (error) {
    if (error instanceof ExpressionError) return `refused ${error.message}`;
    throw error;
  }
};

const checkRendered = (text: string, scope: JsonObject): string => {
  const before = JSON.stringify(scope);
  const refused = checkTemplate(text);
  const once = rendered(text, scope);
  assert.equal(rendered(text, structuredClone(scope)), once);
  assert.equal(JSON.stringify(scope), before);
  assert.ok(refused === undefined || once.startsWith('refused'));
  assert.ok(once.length < 40_000);
  if (checkTemplate(text, new Set(Object.keys(scope))) === undefined)
    assert.doesNotMatch(once, /there is no name/);
  keepsPrototypesClean();
  return once.startsWith('made') ? 'accepted' : 'refused';
};

const checkParsed = (text: string): string => {
  const report = createReport();
  const made = parseGate(text, '.holdpoint/gates/x.yaml', report);
  keepsPrototypesClean();
  for (const problem of report.problems) {
    assert.match(problem.code, /^WORKFLOW_[A-Z_]+$/);
    assert.match(problemText(problem), /^[^\r\n]+$/);
    assert.ok(problemText(problem).length < 10_000);
  }
  assert.equal(made === undefined, report.problems.length > 0);
  if (made === undefined) return 'refused';
  assert.deepEqual(Gate.parse(JSON.parse(JSON.stringify(made))), made);
  const names = gateNames(made);
  for (const one of [made.request.title, made.request.body])
    assert.equal(checkTemplate(one ?? '', names), undefined);
  for (const { when } of made.constraints) assert.equal(checkExpression(when, names), undefined);
  return 'accepted';
};

/** Any gate file is a gate that keeps its contract, or a list of problems. */
export const gates = target<Input>({
  name: 'gates',
  runs: 200,
  reaches: ['accepted', 'refused'],
  cases: { gate, template },
  check: (input) =>
    'gate' in input ? checkParsed(textOf(input.gate)) : checkRendered(textOf(input.template), input.scope),
});
