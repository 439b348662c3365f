import { z } from 'zod';
import { CircuitState, CircuitView, SetCircuit } from '../recovery/circuit.ts';
import { AssessFailure } from '../recovery/commands.ts';
import { REPORT_MAX, Verdict } from '../recovery/verdict.ts';
import { AttemptView, CountClasses, FailureBucket, FailureCount, StuckJob } from '../recovery/views.ts';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, TaskId } from '../values/ids.ts';
import { Page, pageOf } from '../values/page.ts';
import { FailureClass } from '../workflow/failure-class.ts';
import { adminEndpoints, deadLetterEndpoints, endpoint } from './endpoint.ts';

/** Endpoints of the recovery service. */
export const recoveryApi = {
  ...adminEndpoints,
  ...deadLetterEndpoints,
  history: endpoint(
    'Attempts of a task or of one job, oldest first, with the verdicts on failures',
    z.object({ task: TaskId, node: NodeId.optional() }),
    z.object({ items: z.array(AttemptView), stuck: z.array(StuckJob) }),
  ),
  stuck: endpoint('Stuck jobs, by task', Page, pageOf(StuckJob)),
  report: endpoint(
    'Markdown report about a job that is or was stuck',
    z.object({ task: TaskId, node: NodeId }),
    z.object({ job: StuckJob, stuck: z.boolean(), report: z.string().max(REPORT_MAX) }),
  ),
  classify: endpoint(
    'Classify a failure without recording it',
    AssessFailure.pick({ uses: true, exitCode: true, output: true, report: true, rules: true }).extend({
      error: ErrorBody.optional(),
    }),
    z.object({
      class: FailureClass,
      classification: Verdict.shape.classification.unwrap(),
      fingerprint: z.string(),
    }),
  ),
  failure_counts: endpoint(
    'Failed attempts by class, per hour or day in UTC; empty buckets are omitted',
    CountClasses,
    z.object({
      /** Counted time: whole buckets, so it may extend beyond the requested time. */
      from: z.int(),
      to: z.int(),
      bucket: FailureBucket,
      items: z.array(FailureCount),
    }),
  ),
  circuits: endpoint(
    'Circuits that are or were open',
    Page.extend({ state: CircuitState.optional() }),
    pageOf(CircuitView),
  ),
  circuit: endpoint('Open or close the circuit of a target', SetCircuit, CircuitView),
} as const;
