import { expect, test } from 'vitest';
import { planDocument, planIdOf, slugOf, slugOfSpec } from './plan-document.ts';

test.each([
  ['My Plan', 'my-plan'],
  ['  spaces_and__signs!! ', 'spaces-and-signs'],
  ['Größe', 'gro-e'],
  ['--force', 'force'],
  ['a'.repeat(40), 'a'.repeat(32)],
  [`${'a'.repeat(31)}-b`, 'a'.repeat(31)],
])('the name %j gives the slug %j', (name, slug) => {
  expect(slugOf(name)).toEqual({ slug });
});

test.each([
  ['', 'no letter'],
  ['.hidden', 'dot'],
  ['a/b', 'slash'],
  ['../up', 'dot'],
  ['!!!', 'no letter'],
])('the plan name %j is invalid', (name, why) => {
  const refused = slugOf(name);
  expect('problem' in refused && refused.problem).toContain(why);
});

test('the default name is the first six words of the specification', () => {
  expect(slugOfSpec('# Add a\n\nthe new API to it, please')).toEqual({ slug: 'add-a-the-new-api-to' });
  expect(slugOfSpec('extraordinarily comprehensive internationalisation')).toEqual({
    slug: 'extraordinarily-comprehensive-in',
  });
  expect(slugOfSpec('…')).toHaveProperty('problem');
});

test('the id of a plan is stable for a task and slug, and unique', () => {
  expect(planIdOf('t-1', 'a')).toBe(planIdOf('t-1', 'a'));
  expect(new Set([planIdOf('t-1', 'a'), planIdOf('t-1', 'b'), planIdOf('t-2', 'a')]).size).toBe(3);
});

test('a plan has a header, the specification, and the plan', () => {
  const text = planDocument({
    planId: 'pln_1',
    slug: 'note',
    branch: 'draft/note',
    spec: 'Write a note.\n\n',
    body: '1. Write it.',
  });
  expect(text).toBe(`---
plan_id: pln_1
plan: note
branch: draft/note
---

## Operator Spec

Write a note.

## Implementation Plan

1. Write it.
`);
});
