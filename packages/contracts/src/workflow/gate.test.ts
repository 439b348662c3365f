import { describe, expect, test } from 'vitest';
import { Gate, GateInput, Suggestion } from './gate.ts';
import { WAIT_MAX_MS } from './side-effect.ts';

const gate: Gate = {
  id: 'plain',
  version: '1',
  inputs: {},
  given: {},
  loadContext: [],
  request: { onOpen: [] },
  policy: {},
  timeoutMs: {},
  onDecision: {},
  resumePolicy: 'branches',
  resumeBranches: [],
  recovery: {},
  constraints: [],
};

test('a resolved gate is stored unchanged, with or without optional fields', () => {
  expect(Gate.parse(gate)).toEqual(gate);
  const full: Gate = {
    ...gate,
    inputs: { channel: { type: 'enum', values: ['web'], required: true } },
    given: { channel: '{{ inputs.channel }}' },
    loadContext: ['task', 'attempts'],
    timeoutMs: { deploy: 900_000, default: 300_000 },
    onDecision: { approve: { emit: 'resume_executor' }, expire: { emit: 'return_to_orchestrator' } },
    resumeBranches: [{ when: 'true', emit: 'skip_duplicate_effect' }],
    constraints: [{ when: 'true', message: 'never' }],
  };
  expect(Gate.parse(full)).toEqual(full);
});

describe('a gate', () => {
  const broken: readonly (readonly [what: string, change: Record<string, unknown>])[] = [
    ['without a version', { version: '' }],
    ['with an id that is no name', { id: '../../etc' }],
    ['with an id in capitals', { id: 'Plain' }],
    ['that waits for a kind that there is not', { timeoutMs: { everything: 60_000 } }],
    ['that waits for no time', { timeoutMs: { default: 0 } }],
    ['that waits longer than a clock can', { timeoutMs: { default: WAIT_MAX_MS + 1 } }],
    ['that decides on what nobody can say', { onDecision: { applied: { emit: 'resume_executor' } } }],
    ['that goes on as nobody knows', { resumePolicy: 'later' }],
    ['that looks at what there is not', { loadContext: ['secrets'] }],
    ['with a text that nobody reads to its end', { request: { onOpen: [], body: 'x'.repeat(65_537) } }],
    [
      'with branches without end',
      { resumeBranches: Array.from({ length: 17 }, () => ({ when: 'true', emit: 'resume_executor' })) },
    ],
    ['with a condition that is none', { constraints: [{ when: '', message: 'x' }] }],
    ['that puts it to nobody', { request: { onOpen: [], audience: [] } }],
    ['with checkpoints without a name', { request: { onOpen: [{ checkpoint: '' }] } }],
  ];
  test.each(broken)('%s is none', (_, change) => {
    expect(Gate.safeParse({ ...gate, ...change }).success).toBe(false);
  });
});

test('an input has a known type', () => {
  for (const type of ['string', 'integer', 'number', 'boolean', 'enum', 'list', 'object'])
    expect(GateInput.safeParse({ type }).success).toBe(true);
  expect(GateInput.safeParse({ type: 'code' }).success).toBe(false);
});

test('a gate suggests only what the orchestrator knows', () => {
  expect(Suggestion.safeParse({ emit: 'return_to_orchestrator', phase: 'paused', to: 'write' }).success).toBe(
    true,
  );
  for (const wrong of [
    { emit: 'complete_task' },
    { emit: 'return_to_orchestrator', phase: 'completed' },
    { emit: 'return_to_orchestrator', to: 'a.b' },
  ])
    expect(Suggestion.safeParse(wrong).success).toBe(false);
});
