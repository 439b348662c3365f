import assert from 'node:assert/strict';
import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { Outcome, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import { TASK } from '@holdpoint/orchestrator/testing/tasks';
import { parseAs, parseJson } from '@holdpoint/runtime/engine/inbound';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { problemText } from '@holdpoint/workflows/problems/problem';
import fc from 'fast-check';
import { bodyFor } from '../../hostile/body.ts';
import { definitions as random } from '../../hostile/definitions.ts';
import { keepsPrototypesClean, refusalOf } from '../../promises.ts';
import { type Answers, runThrough } from '../../situations/world.ts';
import { target } from '../../target.ts';
import { type Bytes, bytesOf } from '../../text.ts';

type Input = { readonly submission: Bytes; readonly says: Answers };

const says: fc.Arbitrary<Answers> = fc.record({
  outcomes: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant('succeeded' as const) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ...Outcome.options,
          'clean' as const,
          'in_doubt' as const,
          'lost' as const,
          'exhausted' as const,
        ),
      },
    ),
    { minLength: 1, maxLength: 5 },
  ),
  approve: fc.boolean(),
  verdict: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...VerdictKind.options) },
    { weight: 2, arbitrary: fc.constant('by the table' as const) },
  ),
  found: fc.boolean(),
  stuck: fc.array(fc.constantFrom(...StuckAnswer.options), { maxLength: 4 }),
});

const submissions = random.chain((definition) =>
  fc.record(
    {
      workflow: fc.constant('own'),
      goal: fc.constant('x'),
      definition: fc.constant(definition),
      repository: fc.constant('/srv/app'),
      after: fc.constantFrom(['t-2'], ['t-2/a', 't-3/__proto__']),
      approval: fc.constantFrom('required', 'none'),
      inputs: fc.constantFrom<object>({}, { list: [1, 'two', {}], x: 'y' }, { list: 'no list' }),
    },
    { requiredKeys: ['workflow', 'goal', 'definition'] },
  ),
);

/** Any workflow is refused with a reason, or runs to its end with cooperative participants. */
export const definitions = target<Input>({
  name: 'definitions',
  runs: 400,
  reaches: ['CONTRACT_INVALID', 'ORCHESTRATOR_WORKFLOW_INVALID', 'completed', 'failed'],
  cases: {
    workflows: fc.record({
      submission: fc.oneof(
        { weight: 5, arbitrary: submissions.map((value): Bytes => [JSON.stringify(value)]) },
        { weight: 1, arbitrary: bodyFor(submissions) },
      ),
      says,
    }),
  },
  check: ({ submission, says: answers }) => {
    let payload: SubmitTask;
    try {
      payload = parseAs(SubmitTask, parseJson(bytesOf(submission)));
    } catch (error) {
      return refusalOf(error).code;
    } finally {
      keepsPrototypesClean();
    }
    const { definition } = payload;
    if (definition !== undefined) {
      const problems = definitionProblems(WorkflowDefinition.parse(definition));
      for (const problem of problems) assert.match(problemText(problem), /^\S.{0,4000}$/s);
    }
    return runThrough({ kind: 'submit', task: TASK, payload }, answers);
  },
});
