import type { JsonObject } from '@holdpoint/contracts/values/json';
import { expect, test } from 'vitest';
import { heldEffect } from './held-effect.ts';

const inputs = {
  capability: 'refund',
  args: { charge: 'ch_1', note: '${{ secret }}' },
  key: 'refund:ch_1',
  kind: 'write_external',
  class: 'keyed',
  target: 'payments',
};
const define = (given: JsonObject) =>
  heldEffect.define({ workflow: 'effect', goal: 'refund', inputs: given });

test('a held effect is one gated node, whose arguments are no expressions', () => {
  expect(define(inputs)).toMatchObject({
    nodes: [
      {
        id: 'effect',
        uses: 'cap.remote.refund',
        verbatim: true,
        args: inputs.args,
        effect: { kind: 'write_external', effectClass: 'keyed', idempotencyKey: 'refund:ch_1', audience: [] },
      },
    ],
  });
});

test('a capability with a preview is previewed before the request', () => {
  expect(define({ ...inputs, previews: true })).toMatchObject({ nodes: [{ effect: { previews: true } }] });
});

test('a missing or unknown input is named', () => {
  const { key: _, ...without } = inputs;
  expect(define(without)).toEqual({ problems: [expect.stringContaining('input key')] });
  expect(define({ ...inputs, more: 1 })).toEqual({ problems: [expect.stringContaining('more')] });
});
