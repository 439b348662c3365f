import { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { Suggestion } from '@holdpoint/contracts/workflow/gate';
import { describe, expect, test } from 'vitest';
import { id, template } from '../../../testing/graphs.ts';
import {
  afterCrash,
  afterDuplicate,
  type GateRoute,
  type GateFacts,
  judge,
  suggestionFor,
} from './gate-suggestions.ts';

const { emit, phase } = Suggestion.shape;
const HERE = id('before');
const ELSEWHERE = id('elsewhere');
const AGENT = id('agent');

/** Every valid suggestion. */
const suggestions: readonly Suggestion[] = emit.options.flatMap((each) =>
  [undefined, ...phase.unwrap().options].flatMap((of) =>
    [undefined, HERE, ELSEWHERE].map((to) => ({
      emit: each,
      ...(of !== undefined && { phase: of }),
      ...(to !== undefined && { to }),
    })),
  ),
);
const both = [true, false];
/** All facts about a decision. Only an approval has a grant. */
const situations: readonly GateFacts[] = ApprovalOutcome.options.flatMap((outcome) =>
  both.flatMap((granted) =>
    granted && outcome !== 'approved'
      ? []
      : both.flatMap((applied) =>
          both.flatMap((endsOnExpiry) =>
            [undefined, AGENT].map((agent) => ({
              outcome,
              granted,
              applied,
              endsOnExpiry,
              agent,
              leadsHere: (to: string) => to === HERE,
            })),
          ),
        ),
  ),
);

/** The table of the specification in reverse. */
const usual = ({ outcome, granted, agent, endsOnExpiry }: GateFacts): GateRoute => {
  if (outcome === 'expired' && !endsOnExpiry) return { kind: 'paused' };
  if (outcome === 'changes_requested') return agent ? { kind: 'back', to: agent } : { kind: 'paused' };
  return { kind: outcome === 'approved' && granted ? 'resume' : 'blocked' };
};
const expected = (suggestion: Suggestion, facts: GateFacts): { course: GateRoute; refused: boolean } => {
  const honoured = (course: GateRoute) => ({ course, refused: false });
  const not = { course: usual(facts), refused: true };
  switch (suggestion.emit) {
    case 'resume_executor':
      return facts.granted ? honoured({ kind: 'resume' }) : not;
    case 'skip_duplicate_effect':
      return facts.applied ? honoured({ kind: 'known' }) : not;
    case 'ask_orchestrator_for_resume_decision':
      return honoured({ kind: 'recovering' });
    case 'return_to_orchestrator':
      if (suggestion.to === HERE) return honoured({ kind: 'back', to: HERE });
      if (suggestion.to === ELSEWHERE) return not;
      if (suggestion.phase === 'paused' && facts.outcome === 'changes_requested')
        return honoured(usual(facts));
      if (suggestion.phase === 'execution_ready')
        return facts.agent === undefined ? not : honoured({ kind: 'back', to: facts.agent });
      if (suggestion.phase !== undefined) return honoured({ kind: suggestion.phase });
      return honoured(facts.outcome === 'approved' ? { kind: 'paused' } : usual(facts));
  }
};
const named = (value: object): string => JSON.stringify(value);

describe('a suggestion', () => {
  test.each(suggestions.map((suggestion) => [named(suggestion), suggestion] as const))(
    'the suggestion %s is followed where possible and otherwise refused with a reason',
    (_, suggestion) => {
      for (const facts of situations) {
        const { course, refused } = judge(suggestion, facts);
        expect({ course, refused: refused !== undefined }, named(facts)).toEqual(expected(suggestion, facts));
        expect(refused ?? suggestion.emit).toContain(suggestion.emit);
      }
    },
  );

  test('no suggestion runs an effect without an approval and a grant', () => {
    for (const suggestion of [undefined, ...suggestions]) {
      const running = situations.filter((facts) => judge(suggestion, facts).course.kind === 'resume');
      expect(running.filter(({ outcome, granted }) => outcome !== 'approved' || !granted)).toEqual([]);
    }
  });

  test('without a suggestion the default route applies', () => {
    for (const facts of situations) expect(judge(undefined, facts)).toEqual({ course: usual(facts) });
  });
});

describe('the choice of a suggestion', () => {
  const resume = { emit: 'resume_executor' } as const;
  const back = { emit: 'return_to_orchestrator' } as const;
  const skip = { emit: 'skip_duplicate_effect' } as const;
  const gate = template({
    onDecision: { approve: resume, reject: back, request_changes: { ...back, to: HERE }, expire: skip },
    resumePolicy: 'branches',
    resumeBranches: [
      { when: 'one', ...skip },
      { when: 'two', ...back, phase: 'paused' },
    ],
  });
  const never = () => false;

  test.each([
    ['approved', resume],
    ['rejected', back],
    ['changes_requested', { ...back, to: HERE }],
    ['expired', skip],
  ] as const)(
    'without a matching branch the suggestion for %s is that of the decision',
    (outcome, suggestion) => {
      expect(suggestionFor(gate, outcome, never)).toEqual(suggestion);
    },
  );

  test('the first matching branch wins', () => {
    expect(suggestionFor(gate, 'rejected', () => true)).toMatchObject(skip);
    expect(suggestionFor(gate, 'rejected', (when) => when === 'two')).toMatchObject({ phase: 'paused' });
  });

  test('without the branches policy only the decision counts', () => {
    const alone = { ...gate, resumePolicy: 'decision' as const };
    expect(suggestionFor(alone, 'approved', () => true)).toEqual(resume);
  });

  test.each(['cancelled', 'answered'] as const)('there is no suggestion for %s', (outcome) => {
    expect(suggestionFor(gate, outcome, () => true)).toBeUndefined();
  });
});

describe('a suggestion after a lost worker', () => {
  const to = (change: object) => ({ emit: 'return_to_orchestrator', ...change }) as Suggestion;
  test.each([
    [{ emit: 'resume_executor' }, 'usual', 'refused'],
    [{ emit: 'skip_duplicate_effect' }, 'refused', 'refused'],
    [{ emit: 'ask_orchestrator_for_resume_decision' }, 'usual', 'usual'],
    [to({}), 'usual', 'usual'],
    [to({ phase: 'recovering' }), 'usual', 'usual'],
    [to({ phase: 'paused' }), 'refused', 'people'],
    [to({ phase: 'blocked' }), 'refused', 'refused'],
    [to({ to: HERE }), 'refused', 'refused'],
    [to({ to: HERE, phase: 'paused' }), 'refused', 'refused'],
  ] as const)(
    '%j: %s when the effect class decides, %s when it does not',
    (suggestion, byItself, byPeople) => {
      const said = (next: 'repeat' | 'probe' | 'person') => {
        const { course, refused } = afterCrash(suggestion, next);
        return refused === undefined ? course : `refused${course === 'usual' ? '' : `, and ${course}`}`;
      };
      expect([said('repeat'), said('probe'), said('person')]).toEqual([byItself, byItself, byPeople]);
    },
  );

  test('without a suggestion the default applies', () => {
    for (const next of ['repeat', 'probe', 'person'] as const)
      expect(afterCrash(undefined, next)).toEqual({ course: 'usual' });
  });
});

describe('a suggestion after a duplicate order', () => {
  test('only the outcome of the effect continues the task', () => {
    for (const standing of ['applied', 'not_applied', 'in_doubt'] as const)
      for (const suggestion of [undefined, ...suggestions])
        expect(afterDuplicate(suggestion, standing).course).toBe('usual');
  });

  test.each([
    ['resume_executor', ['applied', 'not_applied', 'in_doubt']],
    ['skip_duplicate_effect', ['not_applied', 'in_doubt']],
    ['ask_orchestrator_for_resume_decision', []],
  ] as const)('%s is refused when the order is %j', (of, refusing) => {
    const refused = (['applied', 'not_applied', 'in_doubt'] as const).filter(
      (standing) => afterDuplicate({ emit: of }, standing).refused !== undefined,
    );
    expect(refused).toEqual(refusing);
  });
});
