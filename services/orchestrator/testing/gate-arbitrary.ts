import { type Gate, GateContext, type Suggestion } from '@holdpoint/contracts/workflow/gate';
import fc from 'fast-check';
import { id, template } from './graphs.ts';

const BODY =
  '{% for each in attempts %}{{ each.attempt }} {{ each.outcome }}, {% endfor %}{{ outputs.n0.ok }} {{ inputs.size }}';
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const returned = (names: readonly string[]): fc.Arbitrary<Suggestion> =>
  fc
    .record({
      phase: maybe(fc.constantFrom('blocked', 'paused', 'recovering')),
      to: maybe(fc.constantFrom(...names)),
    })
    .map(({ phase, to }) => ({
      emit: 'return_to_orchestrator',
      ...(phase !== undefined && { phase }),
      ...(to !== undefined && { to: id(to) }),
    }));

const plain = (...emits: readonly Suggestion['emit'][]): fc.Arbitrary<Suggestion> =>
  fc.constantFrom(...emits.map((emit) => ({ emit })));

/** Suggestions of a gate for decisions other than an approval. */
const refusing = (names: readonly string[]): fc.Arbitrary<Suggestion> =>
  fc.oneof(returned(names), plain('skip_duplicate_effect', 'ask_orchestrator_for_resume_decision'));

/** With these a task with approved effects ends. With others it may loop without end. */
const approving: fc.Arbitrary<Suggestion> = fc.oneof(
  { weight: 4, arbitrary: plain('resume_executor', 'skip_duplicate_effect') },
  {
    weight: 1,
    arbitrary: fc.constant<Suggestion>({ emit: 'return_to_orchestrator', phase: 'blocked' }),
  },
);

/** Gates for workflows with these node names. */
export const gatesIn = (names: readonly string[]): fc.Arbitrary<Gate> => {
  const branches = fc.array(
    fc.oneof(
      fc
        .record({
          when: fc.constantFrom(
            'decision.outcome != "approved"',
            'decision.by == "expiry"',
            'decision.outcome == "changes_requested" and inputs.size > 1',
          ),
          suggestion: fc.oneof(refusing(names), plain('resume_executor')),
        })
        .map(({ when, suggestion }) => ({ when, ...suggestion })),
      approving.map((suggestion) => ({ when: 'decision.outcome == "approved"', ...suggestion })),
      fc.constant({
        when: 'decision.outcome == "rejected" and decision.no < 1',
        emit: 'resume_executor' as const,
      }),
    ),
    { minLength: 1, maxLength: 3 },
  );
  return fc
    .record({
      onDecision: fc.record(
        {
          approve: approving,
          reject: refusing(names),
          request_changes: refusing(names),
          expire: refusing(names),
        },
        { requiredKeys: [] },
      ),
      resumeBranches: maybe(branches),
      recovery: fc.record(
        {
          onWorkerCrash: fc.oneof(refusing(names), plain('resume_executor')),
          onDuplicateSideEffectAttempt: fc.oneof(refusing(names), plain('resume_executor')),
        },
        { requiredKeys: [] },
      ),
      size: fc.constantFrom<string | number>(1, 2, '{{ inputs.items | length }}'),
      bounded: fc.constantFrom(true, false, false, false),
    })
    .map(({ onDecision, resumeBranches, recovery, size, bounded }) =>
      template({
        inputs: { size: { type: 'integer' } },
        given: { size },
        loadContext: [...GateContext.options],
        request: {
          title: '{{ task.goal }} {{ node.revision }}',
          body: BODY,
          onOpen: [{ checkpoint: 'opened', note: '{{ checkpoints | length }}' }],
        },
        onDecision,
        recovery,
        ...(resumeBranches && { resumePolicy: 'branches', resumeBranches }),
        ...(bounded && { constraints: [{ when: 'inputs.size < 3', message: 'too large' }] }),
      }),
    );
};
