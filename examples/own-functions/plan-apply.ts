import { createHash } from 'node:crypto';
import { defineEffect, nothingHappened } from '@holdpoint/sdk/http';
import { z } from 'zod';

/** A plan is for one state, which its serial names. Its digest covers both. */
const Plan = z.object({ plan: z.string(), serial: z.int(), digest: z.string() });
export type Plan = z.infer<typeof Plan>;

/** A tool with the shape of `terraform`: `plan` changes nothing, and `apply` refuses a plan of an earlier state. */
export type Infrastructure = {
  readonly plan: (wanted: string) => Omit<Plan, 'digest'>;
  readonly apply: (plan: Plan) => 'applied' | 'stale';
  /** Whether the state contains the plan with this digest. */
  readonly hasApplied: (digest: string) => boolean;
};

export const withDigest = ({ plan, serial }: Omit<Plan, 'digest'>): Plan => ({
  plan,
  serial,
  digest: createHash('sha256')
    .update(JSON.stringify([plan, serial]))
    .digest('hex'),
});

/**
 * People approve the plan, which is the preview of the effect. `run` plans again and applies that plan alone: a change of the plan
 * or of the state since then is refused. The state remembers digests, so that a second start finds what the first one did: `fenced`.
 */
export const applyOf = (tool: Infrastructure) =>
  defineEffect({
    name: 'apply',
    title: 'Apply ${wanted}',
    kind: 'deploy',
    effectClass: 'fenced',
    target: 'infrastructure',
    /** One change, such as a commit. */
    input: z.object({ wanted: z.string() }),
    output: z.object({ serial: z.int() }),
    key: ({ wanted }) => `apply:${wanted}`,
    preview: ({ wanted }) => withDigest(tool.plan(wanted)),
    run: ({ wanted }, { preview }) => {
      const approved = Plan.parse(preview);
      const planned = withDigest(tool.plan(wanted));
      const isApplied = planned.digest === approved.digest && tool.apply(planned) === 'applied';
      if (isApplied || tool.hasApplied(approved.digest)) return { serial: approved.serial + 1 };
      throw nothingHappened('PLAN_CHANGED', 'the plan is no longer the approved one: request a new change');
    },
  });
