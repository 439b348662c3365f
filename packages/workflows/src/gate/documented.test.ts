import { describe, expect, test } from 'vitest';
import { CALLS, errorsOf, read } from '../../testing/gate.ts';

const changed = (from: string, to: string): readonly string[] => {
  expect(CALLS).toContain(from);
  return errorsOf(CALLS.replace(from, to)).toSorted();
};

describe('a gate that is written as calls of tools', () => {
  test('a gate with every call compiles to the form of gates', () => {
    const { gate, problems } = read(CALLS);
    expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'warning WORKFLOW_GATE_NOTE',
    ]);
    expect(gate).toMatchObject({
      id: 'release',
      version: '0.1',
      purpose: 'Hold a release until its owner agrees.',
      inputs: {
        task_id: { type: 'string' },
        side_effect_kind: { type: 'enum', values: expect.arrayContaining(['merge', 'other']) as unknown },
        rollback_hint: { type: 'string' },
      },
      loadContext: ['task'],
      request: {
        onOpen: [{ checkpoint: 'opened', payload: { key: '{{ idempotency_key }}' } }],
      },
      onDecision: {},
      resumePolicy: 'branches',
      resumeBranches: [
        {
          emit: 'resume_executor',
          checkpoints: [{ checkpoint: 'resume_granted', payload: { resumed_by: '{{ lobster.actor }}' } }],
        },
        { emit: 'return_to_orchestrator', phase: 'execution_ready' },
      ],
      recovery: {
        onWorkerCrash: { emit: 'ask_orchestrator_for_resume_decision' },
        onDuplicateSideEffectAttempt: { emit: 'skip_duplicate_effect' },
      },
      constraints: [],
    });
  });

  test.each<readonly [what: string, from: string, to: string, error: string]>([
    [
      'another task in a call',
      'args: { task_id: "{{ task_id }}" }',
      'args: { task_id: t-1 }',
      'WORKFLOW_VALUE_INVALID load_context[0].args.task_id',
    ],
    [
      'another name for the context',
      'save_as: task',
      'save_as: job',
      'WORKFLOW_VALUE_INVALID load_context[0].save_as',
    ],
    ['an unknown tool', 'tool: task_get', 'tool: shell', 'WORKFLOW_VALUE_INVALID load_context[0]'],
    [
      'a request that is already approved',
      'status: "pending"',
      'status: "approved"',
      'WORKFLOW_VALUE_INVALID approval_request.on_open[0].args.status',
    ],
    [
      'a decider that the gate chooses',
      'resolved_by: "{{ lobster.actor }}"',
      'resolved_by: ada',
      'WORKFLOW_VALUE_INVALID on_decision[0].args.resolved_by',
    ],
    [
      'another call after a decision',
      'tool: task_resolve_approval',
      'tool: task_request_approval',
      'WORKFLOW_VALUE_INVALID on_decision[0].tool',
    ],
    ['another strategy', 'resume_from_store', 'from_chat', 'WORKFLOW_VALUE_INVALID resume_policy.strategy'],
    [
      'an unknown argument',
      'suggested_phase: "execution_ready"',
      'suggested_phas: x',
      'WORKFLOW_KEY_UNKNOWN resume_branches[1].actions[0].emit.payload.suggested_phas',
    ],
    [
      'an unknown phase',
      'suggested_phase: "execution_ready"',
      'suggested_phase: completed',
      'WORKFLOW_VALUE_INVALID resume_branches[1].phase',
    ],
    [
      'two suggestions',
      '      - emit:\n          action: "return_to_orchestrator"',
      '      - emit: { action: resume_executor }\n      - emit:\n          action: "return_to_orchestrator"',
      'WORKFLOW_VALUE_INVALID resume_branches[1].actions',
    ],
    [
      'another checkpoint for a lost worker',
      '"worker_crash_detected"',
      'crash',
      'WORKFLOW_VALUE_INVALID recovery.on_worker_crash.checkpoint_type',
    ],
    [
      'a condition among the notes',
      '"The gate suggests, and the orchestrator decides."',
      `"effect.kind == 'deploy'"`,
      'WORKFLOW_VALUE_INVALID constraints[0]',
    ],
    [
      'an unknown name in a payload',
      'resumed_by: "{{ lobster.actor }}"',
      'resumed_by: "{{ actor }}"',
      'WORKFLOW_EXPRESSION resume_branches[0].checkpoints[0].payload.resumed_by',
    ],
    [
      'a decision before there is one',
      'payload: { key: "{{ idempotency_key }}" } }',
      'payload: { key: "{{ lobster.actor }}" } }',
      'WORKFLOW_EXPRESSION approval_request.on_open[0].task_record_checkpoint.payload.key',
    ],
  ])('a call is refused: %s', (_what, from, to, error) => {
    expect(changed(from, to)).toContain(error);
  });
});
