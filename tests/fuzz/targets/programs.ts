import { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import { WorkRequest } from '@holdpoint/contracts/program/work';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { orchestratorLogic } from '@holdpoint/orchestrator/bindings';
import { programWith, TASK } from '@holdpoint/programs/testing/fixture';
import { parseAs, parseJson } from '@holdpoint/runtime/engine/inbound';
import fc from 'fast-check';
import { decideFully } from '../decisions.ts';
import { bodyFor } from '../hostile/body.ts';
import { casesFor, sometimesLinked, validMessage } from '../messages.ts';
import { keepsPrototypesClean, refusalOf } from '../promises.ts';
import { leaseIn, programSituations } from '../situations/programs.ts';
import { target } from '../target.ts';
import { type Bytes, bytesOf } from '../text.ts';

type Input = { readonly asks: string; readonly situation: string; readonly body: Bytes };

const WORKER = 'worker-1';
const logic = orchestratorLogic();
const situations = {
  ...programSituations,
  absent: { kind: 'program', version: 0, state: logic.kinds.program.decider.initial },
};

const ASKS: Readonly<Record<string, (situation: string) => (value: object) => object>> = {
  'api/orchestrator.work.request': (situation) => (value) => ({
    ...value,
    task: TASK,
    lease: leaseIn(situation),
    worker: WORKER,
  }),
  'api/orchestrator.submit.request': () => (value) => ({
    ...value,
    id: TASK,
    definition: undefined,
    program: programWith(),
  }),
};

/**
 * Messages of workers and submissions of programs are decided or refused, and every consequence can be stored
 * and sent.
 */
export const programs = target<Input>({
  name: 'programs',
  runs: 60,
  reaches: ['decided', 'CONTRACT_INVALID', 'CONTRACT_NOT_JSON'],
  cases: casesFor(Object.keys(ASKS), (asks) =>
    fc.constantFrom(...Object.keys(situations)).chain((situation) =>
      fc.record({
        asks: fc.constant(asks),
        situation: fc.constant(situation),
        body: bodyFor(
          sometimesLinked(validMessage(asks), (ASKS[asks] ?? (() => (value) => value))(situation)),
        ),
      }),
    ),
  ),
  check: ({ asks, situation, body }) => {
    const loaded = situations[situation as keyof typeof situations];
    if (loaded === undefined) throw new Error(`there is no ${situation}`);
    try {
      const value = parseJson(bytesOf(body));
      if (asks === 'api/orchestrator.work.request') {
        const payload = parseAs(WorkRequest, value);
        return decideFully(
          logic,
          loaded,
          { kind: 'program', aggregate: TASK, message: { kind: 'work', payload } },
          undefined,
        );
      }
      const payload = parseAs(SubmitTask, value);
      const program = ProgramDefinition.safeParse(payload.program).data;
      const message = { kind: 'submit', task: TASK, payload: { ...payload, program } } as const;
      return decideFully(
        logic,
        loaded,
        { kind: program === undefined ? 'task' : 'program', aggregate: TASK, message },
        undefined,
      );
    } catch (error) {
      return refusalOf(error).code;
    } finally {
      keepsPrototypesClean();
    }
  },
});
