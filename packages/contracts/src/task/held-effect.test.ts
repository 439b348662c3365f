import { HELD_NODE, type HeldState } from '../effect/hold.ts';
import type { LatestApproval, NodeView, TaskView } from './views.ts';
import type { EffectId } from '../values/ids.ts';
import { describe, expect, test } from 'vitest';
import { heldEffectOf, heldOrder, isFinal } from './held-effect.ts';

type Given = {
  readonly phase: TaskView['phase'];
  readonly status: string;
  readonly approval?: LatestApproval['status'];
  readonly ledger?: string;
  readonly node?: Partial<NodeView>;
};

const taskOf = ({ phase, status, approval, node }: Given): TaskView =>
  ({
    id: 't-held',
    workflow: 'effect@1',
    definitionHash: '',
    goal: 'Refund',
    phase,
    version: 7,
    requestedBy: 'ada',
    sinks: [],
    entries: [],
    nodes: [
      {
        id: HELD_NODE,
        status,
        job: 'queued',
        attempt: 1,
        uses: 'cap.remote.refund',
        after: [],
        gated: true,
        ...node,
      },
    ],
    ...(approval !== undefined && {
      latestApproval: {
        id: 'a-1',
        node: HELD_NODE,
        attempt: 1,
        status: approval,
        by: 'grace',
        note: 'as agreed',
      },
    }),
  }) as unknown as TaskView;

const held = (given: Given) =>
  heldEffectOf({
    capability: 'refund',
    key: 'refund:ch_1',
    task: taskOf(given),
    ...(given.ledger !== undefined && { ledger: { state: given.ledger } }),
  });

describe('the state of a held effect follows from its task and the ledger', () => {
  const cases: readonly (readonly [string, Given, HeldState])[] = [
    ['the task has just arrived', { phase: 'queued', status: 'idle' }, 'requested'],
    ['its preview runs', { phase: 'executing', status: 'waiting' }, 'requested'],
    ['a circuit is open before the request', { phase: 'circuit_open', status: 'waiting' }, 'requested'],
    [
      'approvers are asked',
      { phase: 'awaiting_approval', status: 'awaiting_approval', approval: 'pending' },
      'waiting',
    ],
    [
      'it was approved and no program has it',
      { phase: 'executing', status: 'running', approval: 'approved' },
      'approved',
    ],
    [
      'the ledger has the order and no start',
      { phase: 'executing', status: 'running', approval: 'approved', ledger: 'prepared' },
      'approved',
    ],
    [
      'a program runs it',
      { phase: 'executing', status: 'running', approval: 'approved', ledger: 'started' },
      'running',
    ],
    [
      'its program fell silent',
      { phase: 'executing', status: 'running', approval: 'approved', ledger: 'in_doubt' },
      'in_doubt',
    ],
    [
      'a person is asked about it',
      { phase: 'awaiting_approval', status: 'recovering', approval: 'approved', ledger: 'in_doubt' },
      'in_doubt',
    ],
    [
      'its job ended and a person is asked about it',
      {
        phase: 'paused',
        status: 'escalated',
        approval: 'approved',
        node: {
          verdict: {
            kind: 'escalate',
            class: 'EFFECT_IN_DOUBT',
            delayMs: 0,
            rule: 'verdicts@3/in-doubt',
            reason: 'a person has to check',
            classification: { rule: 'classes@2/in-doubt', evidence: 'no beat' },
          },
        },
      },
      'in_doubt',
    ],
    ['it succeeded', { phase: 'completed', status: 'succeeded', approval: 'approved' }, 'applied'],
    [
      'the ledger is ahead of the task',
      { phase: 'executing', status: 'running', approval: 'approved', ledger: 'applied' },
      'running',
    ],
    ['it failed', { phase: 'failed', status: 'failed', approval: 'approved' }, 'failed'],
    ['it never reached approvers', { phase: 'failed', status: 'failed' }, 'failed'],
    ['it was rejected', { phase: 'failed', status: 'blocked', approval: 'rejected' }, 'rejected'],
    [
      'changes were requested',
      { phase: 'failed', status: 'blocked', approval: 'changes_requested' },
      'rejected',
    ],
    ['its request expired', { phase: 'failed', status: 'blocked', approval: 'expired' }, 'rejected'],
    ['its task was cancelled', { phase: 'cancelled', status: 'cancelled' }, 'cancelled'],
    [
      'a person cancelled the approved effect',
      { phase: 'cancelled', status: 'cancelled', approval: 'approved' },
      'cancelled',
    ],
    ['an operator skipped it', { phase: 'completed', status: 'skipped' }, 'cancelled'],
  ];

  test.each(cases)('%s', (_, given, state) => {
    expect(held(given).state).toBe(state);
  });

  test('every state has a case', () => {
    const states = new Set(cases.map(([, , state]) => state));
    expect([...states].toSorted()).toEqual([
      'applied',
      'approved',
      'cancelled',
      'failed',
      'in_doubt',
      'rejected',
      'requested',
      'running',
      'waiting',
    ]);
  });

  test('only ends of an effect are final', () => {
    const states = [...new Set(cases.map(([, , state]) => state))];
    expect(states.filter(isFinal).toSorted()).toEqual(['applied', 'cancelled', 'failed', 'rejected']);
  });
});

describe('a held effect shows', () => {
  test('its ids, and the decision with its comment', () => {
    const approval = 'a-1' as NonNullable<NodeView['approval']>;
    const effect = 'e-requested' as EffectId;
    const node = { approval, effect };
    expect(held({ phase: 'executing', status: 'running', approval: 'approved', node })).toEqual({
      id: 't-held',
      effect,
      capability: 'refund',
      key: 'refund:ch_1',
      state: 'approved',
      approval,
      by: 'grace',
      comment: 'as agreed',
    });
  });

  test('no id of an entry in the ledger before its request, because a preview changes it', () => {
    expect(held({ phase: 'executing', status: 'waiting' })).not.toHaveProperty('effect');
  });

  test('the outputs of an applied effect and no error of an earlier attempt', () => {
    const error = { code: 'REMOTE_BUSY', message: 'busy' };
    const shown = held({ phase: 'completed', status: 'succeeded', node: { outputs: { id: 're_1' }, error } });
    expect(shown).toMatchObject({ state: 'applied', outputs: { id: 're_1' } });
    expect(shown).not.toHaveProperty('error');
  });

  test('the error of a failed effect', () => {
    const error = { code: 'REMOTE_CARD_DECLINED', message: 'declined' };
    expect(held({ phase: 'failed', status: 'failed', node: { error } })).toMatchObject({
      state: 'failed',
      error,
    });
  });
});

describe('the ledger has an entry of a held effect', () => {
  const [effect, preview] = ['e-requested', 'e-preview'] as EffectId[];
  const orderOf = (node: Partial<NodeView>) => heldOrder(taskOf({ phase: 'executing', status: 'x', node }));

  test('once it is ordered', () => {
    expect(orderOf({ effect, effects: [effect] as EffectId[] })).toBe(effect);
    expect(orderOf({ effect })).toBeUndefined();
  });

  test('and the order of its preview is another entry', () => {
    expect(orderOf({ effects: [preview] as EffectId[] })).toBeUndefined();
  });
});
