import { Gate } from '@holdpoint/contracts/workflow/gate';
import type { Json } from '@holdpoint/contracts/values/json';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkExpression, checkTemplate } from '../expression/expression.ts';
import { shippedGate } from '../files/shipped.ts';
import { FULL, read } from '../../testing/gate.ts';
import { gateNames } from './problems.ts';

const VALID: readonly Json[] = [FULL, shippedGate('approval_recovery_v2') ?? ''].map(
  (text) => parse(text) as Json,
);

const words = fc.constantFrom(
  '',
  '{{ task.goal }}',
  '{{ x }}',
  '{% if effect %}a{% endif %}',
  '{% for x in attempts %}',
  '__proto__',
  'constructor',
  'resume_executor',
  'return_to_orchestrator',
  'phase',
  'to',
  'emit',
  'when',
  'task',
  'decision',
  'approve',
  'user:ada',
  '5m',
  '40d',
  'deploy',
  'enum',
  'true',
  '\u0000',
  'a'.repeat(3_000),
);
const any: fc.Arbitrary<Json> = fc.oneof(words, fc.jsonValue() as fc.Arbitrary<Json>);

type Change = { readonly at: number; readonly what: string; readonly value: Json; readonly key: string };
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
  if (what === 'drop' && list) holder.splice(Number(name), 1);
  else if (what === 'drop') Reflect.deleteProperty(holder, name);
  else if (what === 'repeat' && list) holder.push(...structuredClone(holder.slice(0, 1)));
  else Reflect.set(holder, what === 'replace' || list ? name : key, structuredClone(value));
};

const mutated = fc
  .tuple(fc.constantFrom(...VALID), fc.array(change, { minLength: 1, maxLength: 4 }))
  .map(([valid, changes]) => {
    const data = structuredClone(valid);
    for (const one of changes) apply(data, one);
    return data;
  });

const CODE = /^WORKFLOW_[A-Z_]+$/;

test('every mutated gate is refused with a reason or is valid with parsable texts', () => {
  let refused = 0;
  let made = 0;
  fc.assert(
    fc.property(mutated, fc.boolean(), (data, json) => {
      const { gate, problems } = read(
        json ? JSON.stringify(data) : stringify(data, { aliasDuplicateObjects: false }),
      );
      expect(gate === undefined).toBe(problems.some(({ severity }) => severity === 'error'));
      expect(
        problems.filter(({ code, found, expected }) => !CODE.test(code) || found === '' || expected === ''),
      ).toEqual([]);
      if (gate === undefined) {
        refused += 1;
        return;
      }
      made += 1;
      const names = gateNames(gate);
      const texts = [gate.request.title, gate.request.body, ...(gate.request.audience ?? [])];
      const wrong = [
        ...texts.map((text) => checkTemplate(text ?? '', names)),
        ...gate.constraints.map(({ when }) => checkExpression(when, names)),
        ...gate.resumeBranches.map(({ when }) =>
          checkExpression(when, new Set([...names, 'decision', 'lobster'])),
        ),
      ].filter((problem) => problem !== undefined);
      expect({ gate: Gate.parse(gate), wrong }).toEqual({ gate, wrong: [] });
    }),
    { numRuns: 200 },
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
        fc
          .array(
            fc.constantFrom(
              '- ',
              '? ',
              ': ',
              '[',
              '{',
              '}',
              ']',
              '|',
              '>',
              '&a ',
              '*a',
              '!',
              '%',
              '"',
              "'",
              '\n',
              '  ',
              '\t',
              'id',
              '---',
              '#',
              ',',
            ),
            { maxLength: 40 },
          )
          .map((parts) => parts.join('')),
      ),
      (text) => {
        const { gate, problems } = read(text);
        expect(gate).toBeUndefined();
        expect(problems.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 200 },
  );
});
