import { isStuck } from '../recovery/stuck.ts';
import { comesAfter, type Job } from './job.ts';
import type { Timeline } from './timeline.ts';
import { waitKinds, waitOf } from './wait.ts';

const iso = (at: number): string => new Date(at).toISOString();

/** Common fields of all `--raw` output. */
export const envelope = (now: number): { readonly version: 1; readonly generated_at: string } => ({
  version: 1,
  generated_at: iso(now),
});

/** A job with typed fields, for scripts. */
export const rawJob = (job: Job, timeline?: Timeline): Readonly<Record<string, unknown>> => {
  const { id, run, node, createdAt } = job;
  const created = createdAt ?? timeline?.created;
  const at = run.workflow.lastIndexOf('@');
  return {
    job_id: id,
    status: node.job,
    created_at: created === undefined ? null : iso(created),
    wait: waitOf(node) ?? null,
    waited_on: timeline?.waitedOn ?? waitKinds(node),
    schedule: {
      after: comesAfter(job),
      needs: node.needs ?? [],
      produces: node.produces ?? [],
      locks: node.locks ?? [],
      approval: { required: node.gated, id: node.approval ?? null },
    },
    workflow: {
      run_id: run.id,
      node_id: node.id,
      node_name: node.name ?? null,
      node_attempt: node.attempt,
      node_status: node.status,
      uses: node.uses,
      template_id: at < 0 ? run.workflow : run.workflow.slice(0, at),
      template_version: at < 0 ? null : run.workflow.slice(at + 1),
      template_selector: run.selector ?? null,
      definition_hash: run.definitionHash,
    },
    context: { ...node.context, repository: run.repository ?? null },
    recovery: {
      stuck: isStuck(node),
      verdict: node.verdict ?? null,
      session: node.session ?? null,
      circuit: run.circuit ?? null,
    },
    exit_code: node.exitCode ?? null,
    error: node.error ?? null,
  };
};
