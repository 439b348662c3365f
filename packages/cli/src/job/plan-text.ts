import { instant, shorten } from '../output/columns.ts';
import type { Line } from '../output/painted.ts';
import { isStuck, stuckLine } from '../recovery/stuck.ts';
import { table } from '../output/table.ts';
import type { Job } from './job.ts';
import { type Edge, ORDERING, type Plan } from './plan.ts';
import { envelope, rawJob } from './raw.ts';
import { waitText } from './record.ts';
import { statusSpan } from './status.ts';

const HEADER = ['#', 'Slug', 'Name', 'Status', 'Wait', 'Job'] as const;
const WAIT_SHOWN = 100;
const EMPTY = 'no jobs scheduled';

/** The file name, for a workflow named by its file. */
const workflowOf = ({ selector, workflow }: Job['run']): string =>
  (selector ?? workflow).replace(/^file:(?:.*\/)?(.+?)(?:\.(?:toml|json))?$/su, '$1');

const slugOf = ({ run, node }: Job): string => node.context?.slug ?? workflowOf(run);
const waitOf = ({ node, run }: Job): string => waitText(node, run);
const nameOf = ({ node }: Job): string => node.name ?? node.id;

export const planSummary = ({ jobs }: Plan, top: number): readonly Line[] => {
  if (jobs.length === 0) return [EMPTY];
  const shown = jobs.slice(0, top);
  const rows = shown.map((job, i) => [
    String(i + 1),
    slugOf(job),
    nameOf(job),
    statusSpan(job.node.job),
    // The job's name follows and must stay visible.
    shorten(waitOf(job), WAIT_SHOWN),
    job.id,
  ]);
  const left = jobs.length - rows.length;
  return [
    ...table(HEADER, rows),
    ...(left > 0 ? [`and ${String(left)} more (--top shows more)`] : []),
    ...shown.filter(({ node }) => isStuck(node)).map(({ id }) => stuckLine(id)),
  ];
};

const edgeText = (edge: Edge): string =>
  'after' in edge
    ? edge.from
    : `${edge.artifact} [${edge.state}]${edge.from === '' ? '' : ` from ${edge.from}`}`;

const INDENT = '  ';

/** A job with its dependencies below, to the given depth. A job that was shown already is not expanded again. */
const branch = (job: Job, plan: Plan, depth: number, indent: string, seen: Set<string>): readonly Line[] => {
  const head: Line = [`${indent}${job.id} `, statusSpan(job.node.job), ` ${waitOf(job)}`.trimEnd()];
  if (depth === 0 || seen.has(job.id)) return [head];
  seen.add(job.id);
  const below = plan.edges
    .filter(({ to }) => to === job.id)
    .flatMap((edge): readonly Line[] => {
      const from = plan.jobs.find(({ id }) => id === edge.from);
      const label: Line = `${indent}${INDENT}<- ${edgeText(edge)}`;
      return 'after' in edge && from !== undefined
        ? branch(from, plan, depth - 1, `${indent}${INDENT}`, seen)
        : [label];
    });
  return [head, ...below];
};

export const planDag = (plan: Plan, depth: number): readonly Line[] => {
  if (plan.jobs.length === 0) return [EMPTY];
  const before = new Set(plan.edges.map(({ from }) => from));
  const last = plan.jobs.filter(({ id }) => !before.has(id));
  const seen = new Set<string>();
  // A cycle has no last job.
  const tops = last.length === 0 ? plan.jobs.slice(0, 1) : last;
  return tops.flatMap((job) => branch(job, plan, depth, '', seen));
};

const created = ({ createdAt }: Job): string => (createdAt === undefined ? '' : instant(createdAt));

export const planJson = ({ jobs, edges }: Plan): unknown => ({
  version: 1,
  ordering: ORDERING,
  jobs: jobs.map((job, i) => ({
    order: i + 1,
    job_id: job.id,
    slug: slugOf(job),
    name: nameOf(job),
    status: job.node.job,
    wait: waitOf(job),
    created_at: created(job),
  })),
  edges,
});

export const planRaw = ({ jobs, edges }: Plan, now: number): unknown => ({
  ...envelope(now),
  ordering: ORDERING,
  jobs: jobs.map((job) => rawJob(job)),
  edges,
});
