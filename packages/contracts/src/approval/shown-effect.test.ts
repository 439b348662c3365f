import { expect, test } from 'vitest';
import { CanonicalEffect, effectDigest } from '../effect/canonical-effect.ts';
import { digestShown, isAsShown } from './shown-effect.ts';

const effect = CanonicalEffect.parse({
  task: 't-1',
  node: 'deploy',
  uses: 'cap.http.request',
  args: { url: 'https://staging.example', body: { replicas: 2 } },
  kind: 'deploy',
  effectClass: 'opaque',
  target: 'https://staging.example',
  idempotencyKey: 'deploy:1',
});
const digest = effectDigest(effect);

test('the digest of a shown effect is computed from its fields, in any order', () => {
  expect(digestShown({ effect, digest })).toBe(digest);
  const turned = Object.fromEntries(Object.entries(effect).toReversed()) as CanonicalEffect;
  expect(isAsShown({ effect: turned, digest })).toBe(true);
});

test.each([
  ['argument', { args: { url: 'https://staging.example', body: { replicas: 200 } } }],
  ['target', { target: 'https://production.example' }],
  ['capability', { uses: 'cap.env.shell.command.run' }],
  ['task', { task: 't-2' }],
  ['class', { effectClass: 'keyed' }],
] as const)('an altered %s is refused', (_, change) => {
  const altered = CanonicalEffect.parse({ ...effect, ...change });
  expect(isAsShown({ effect: altered, digest })).toBe(false);
  expect(() => digestShown({ effect: altered, digest })).toThrow(
    expect.objectContaining({ code: 'APPROVALS_EFFECT_ALTERED' }),
  );
});
