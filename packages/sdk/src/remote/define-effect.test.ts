import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REMOTE_OUTPUTS_MAX_BYTES } from '@holdpoint/contracts/effect/remote';
import { remoteVectors } from '@holdpoint/contracts/generate/vectors';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { programEffect } from '../activation/context/effect-request.ts';
import { phasesFor } from '../definition/phases-for.ts';
import { defineWorkflow } from '../definition/workflow.ts';
import { createTestEnvironment } from '../testing/create-test-environment.ts';
import { createTestGate } from '../testing/gate.ts';
import { resultOf, sentOutputs } from './claimant-rules.ts';
import { defineEffect } from './define-effect.ts';
import { takeSeat } from './seat.ts';
import { startClaimant } from './start-claimant.ts';
import { createTrust } from './trust.ts';

const refund = defineEffect({
  name: 'refund',
  title: 'Refund ${charge}',
  effectClass: 'keyed',
  target: 'payments:${charge}',
  input: z.object({ charge: z.string(), cents: z.int().default(100) }),
  output: z.object({ refund: z.string() }),
  key: ({ charge }) => `refund:${charge}`,
  run: ({ charge }) => ({ refund: charge }),
});

test('the definition has the JSON Schema of complete arguments', () => {
  expect(refund.definition).toMatchObject({
    name: 'refund',
    effectClass: 'keyed',
    kind: 'write_external',
    input: { type: 'object', required: ['charge', 'cents'], additionalProperties: false },
  });
});

test('defaults are filled in before approvers see the arguments', () => {
  expect(refund.request({ charge: 'ch_1' } as never)).toMatchObject({
    capability: 'cap.remote.refund',
    args: { charge: 'ch_1', cents: 100 },
    idempotencyKey: 'refund:ch_1',
    target: 'payments:ch_1',
  });
});

test('the request of a workflow says whether the effect has a preview', () => {
  const args = { charge: 'ch_1', cents: 1 };
  const shown = defineEffect({ ...refund.options, preview: ({ cents }) => ({ cents }) });
  expect(refund.request(args)).not.toHaveProperty('previews');
  expect(programEffect(shown.request(args))).toMatchObject({ uses: 'cap.remote.refund', previews: true });
});

test('arguments that do not fit are refused before anything is requested', () => {
  expect(() => refund.request({ charge: 1 } as never)).toThrow(
    expect.objectContaining({ code: 'APPROVALS_ARGUMENTS_INVALID' }),
  );
});

test.each([
  ['an invalid name', { name: 'Refund!' }, /invalid effect/],
  ['a transformation', { input: z.object({ a: z.string().transform(Number) }) }, /has no JSON Schema/],
])('%s is refused when the effect is defined', (_, more, message) => {
  expect(() => defineEffect({ ...refund.options, ...more } as never)).toThrow(message);
});

test.each([
  ['outputs over the limit', { text: 'x'.repeat(REMOTE_OUTPUTS_MAX_BYTES) }, { outputsTooLarge: 262_155 }],
  ['outputs that are no object', 'text', { outputsInvalid: 'not a JSON object' }],
  ['outputs that are not JSON', { big: 1n }, { outputsInvalid: 'not JSON' }],
  ['no outputs', undefined, {}],
])('%s do not hide that the effect was applied', (_, outputs, sent) => {
  expect(sentOutputs(outputs)).toEqual(sent);
});

const Output = z.object({ refund: z.string() });
const broken = z.object({ refund: z.string().refine(() => Promise.resolve(true)) });
const invalid = { outputsInvalid: expect.any(String) as string };

test.each([
  ['a run', 'run', { refund: 1 }, Output, { kind: 'applied', outputs: invalid }],
  [
    'a run with a schema that cannot check',
    'run',
    { refund: 're' },
    broken,
    { kind: 'applied', outputs: invalid },
  ],
  ['a preview', 'preview', { plan: 1 }, Output, { kind: 'applied', outputs: { plan: 1 } }],
  ['a compensation', 'compensate', {}, Output, { kind: 'applied', outputs: {} }],
  ['a probe', 'probe', { found: 'applied', outputs: {} }, Output, { found: 'applied', outputs: invalid }],
  [
    'a probe that fits',
    'probe',
    { found: 'applied', outputs: { refund: 're' } },
    Output,
    { outputs: { refund: 're' } },
  ],
  ['a probe without a finding', 'probe', null, Output, { found: 'unknown' }],
] as const)('the outputs of %s are checked if the schema is theirs', (_, part, returned, output, result) => {
  expect(resultOf(part, returned, output)).toMatchObject(result);
});

test('a phase of a workflow requests the effect with its class and key', async () => {
  const State = z.object({ refund: z.string().default('') });
  const { effectPhase, terminal } = phasesFor(State);
  const workflow = defineWorkflow({
    id: 'pay-back',
    version: '1',
    state: State,
    initial: 'refund',
    phases: {
      refund: effectPhase({
        effect: () => refund.request({ charge: 'ch_1', cents: 5 }),
        onResult: (outputs, draft) => void (draft.refund = outputs.refund),
        next: 'done',
      }),
      done: terminal({ output: (state) => state.refund }),
    },
  });
  const env = createTestEnvironment({ workflows: [workflow] });
  onTestFinished(() => env.stop());
  env.onEffect(() => ({ outcome: 'succeeded', outputs: { refund: 're_1' } }));
  expect(await (await env.start(workflow, {})).result()).toBe('re_1');
  expect(env.effects()).toMatchObject([
    { capability: 'cap.remote.refund', target: 'payments:ch_1', idempotencyKey: 'refund:ch_1' },
  ]);
});

test('the first keys are trusted, and later ones only if a trusted key vouches for them', async () => {
  const { keys, rotation } = remoteVectors();
  let published = { keys, statements: [] as readonly string[] };
  const trust = createTrust(() => Promise.resolve({ ...published, statements: [...published.statements] }));
  const first = await trust.keys();
  expect(await trust.keys()).toBe(first);
  published = rotation.published;
  expect((await trust.refresh()).map(keyIdOf)).toEqual(rotation.trusted);
  const pinned = createTrust(
    () => Promise.resolve({ keys: rotation.published.keys, statements: [] }),
    keys[0]?.publicKey,
  );
  expect(await pinned.refresh()).toEqual(first);
});

test('a seat has one holder at a time, and keeps its id', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'seat-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const seat = await takeSeat(folder);
  await expect(takeSeat(folder)).rejects.toMatchObject({ code: 'ERR_IDEMPOTENCY_CONFLICT' });
  seat.release();
  const next = await takeSeat(folder);
  expect(next.id).toBe(seat.id);
  next.release();
});

test('a claimant whose definition differs from the registered one does not start', async () => {
  const { connection } = createTestGate();
  await connection.register(refund.definition);
  const other = defineEffect({ ...refund.options, effectClass: 'opaque' });
  const { HoldpointError } = await import('@holdpoint/contracts/values/errors');
  const claimant = startClaimant({
    connection: {
      ...connection,
      register: () => Promise.reject(new HoldpointError('APPROVALS_SCOPE', 'no')),
    },
    effects: [other],
    signals: false,
    log: () => undefined,
  });
  await expect(claimant.ready).rejects.toMatchObject({ code: 'APPROVALS_CAPABILITY_INVALID' });
  await claimant.stopped;
});
