import fc from 'fast-check';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import type { Json } from '@holdpoint/contracts/values/json';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { compiled, DRAFT, MERGE, NOTE } from '../../testing/template.ts';

/** The same with recovery and a budget. */
const RECOVERING = MERGE.replace(
  '[[nodes]]',
  '[policy.budget]\ntokens = 200000\ncost_usd = 2.5\nminutes = "90"\naudience = ["operators"]\n[[nodes]]',
).replace('policy = "block" }]', 'policy = "block" }]\non_error = { strategy = "recover" }');

/** Each with its required fields. */
const VALID: readonly Json[] = [NOTE, MERGE, DRAFT, RECOVERING].map((text) => {
  const filled = text.replace('slug = ""', 'slug = "s"').replace('spec_text = ""', 'spec_text = "t"');
  return JSON.parse(JSON.stringify(parse(filled))) as Json;
});

const words = fc.constantFrom(
  '',
  '${',
  '${x}',
  '${topic}',
  '$${topic}',
  '__proto__',
  'constructor',
  'control.terminal',
  'control.gate.cicd',
  'cap.agent.invoke',
  'cap.http.request',
  'vizier.x',
  'wt',
  'check',
  'terminal',
  'true',
  '{{ nodes.x }}',
  '\u0000',
  'a'.repeat(300),
);
const any: fc.Arbitrary<Json> = fc.oneof(words, fc.jsonValue() as fc.Arbitrary<Json>);

type Change = {
  readonly at: number;
  readonly what: 'drop' | 'replace' | 'add' | 'repeat';
  readonly value: Json;
  readonly key: string;
};

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  what: fc.constantFrom('drop', 'replace', 'add', 'repeat'),
  value: any,
  key: words,
});

type Holder = { [key: string]: Json } | Json[];

const holdersIn = (value: Json): readonly Holder[] => {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Holder, ...Object.values(value).flatMap((inner: Json) => holdersIn(inner))];
};

/** One change at one path. */
const apply = (data: Json, { at, what, value, key }: Change): void => {
  const holders = holdersIn(data);
  const holder = holders[at % Math.max(1, holders.length)];
  if (holder === undefined) return;
  const names = Object.keys(holder);
  const name = names[at % Math.max(1, names.length)] ?? '0';
  const list = Array.isArray(holder);
  if (what === 'drop') Reflect.deleteProperty(holder, name);
  else if (what === 'repeat' && list) holder.push(...structuredClone(holder.slice(0, 1)));
  else Reflect.set(holder, what === 'replace' || list ? name : key, structuredClone(value));
};

const mutated = fc
  .tuple(fc.constantFrom(...VALID), fc.array(change, { minLength: 1, maxLength: 6 }))
  .map(([valid, changes]) => {
    const data = structuredClone(valid);
    for (const one of changes) apply(data, one);
    return JSON.stringify(data);
  });

const given = fc.oneof(
  fc.constant({ set: {}, named: {}, positional: [] }),
  fc.record({
    set: fc.dictionary(words, fc.oneof(fc.string(), fc.boolean(), fc.integer())),
    named: fc.dictionary(words, fc.string()),
    positional: fc.array(fc.string(), { maxLength: 4 }),
  }),
);

test('every mutated template is refused with a reason or compiles to a valid definition', () => {
  let refused = 0;
  let made = 0;
  fc.assert(
    fc.property(mutated, given, fc.boolean(), (text, options, configured) => {
      const agentFor = () => (configured ? ['agent'] : undefined);
      const result = compiled({ 'flow.json': text }, { ...options, agentFor }, 'flow.json');
      const errors = result.problems.filter(({ severity }) => severity === 'error');
      for (const problem of result.problems) {
        expect(problem.code).toMatch(/^WORKFLOW_[A-Z_]+$/);
        expect(problem.found).not.toBe('');
        expect(problem.expected).not.toBe('');
      }
      if (result.definition === undefined) refused += 1;
      else made += 1;
      expect(errors.length > 0).toBe(result.definition === undefined);
      const { definition } = result;
      expect(definition === undefined ? undefined : WorkflowDefinition.parse(definition)).toEqual(definition);
    }),
    { numRuns: 800 },
  );
  expect(refused).toBeGreaterThan(50);
  expect(made).toBeGreaterThan(5);
});

test('arbitrary file content is refused with a reason', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: 'binary' }),
        any.map((value) => JSON.stringify(value)),
      ),
      (text) => {
        for (const name of ['flow.toml', 'flow.json']) {
          const { definition, problems } = compiled({ [name]: text }, {}, name);
          expect(definition).toBeUndefined();
          expect(problems).not.toEqual([]);
        }
      },
    ),
    { numRuns: 200 },
  );
});
