import { createHash } from 'node:crypto';
import { defineEffect, nothingHappened } from '@holdpoint/sdk/http';
import { z } from 'zod';

/** A tool with the shape of `terraform`: `plan` changes nothing, and `apply` accepts only a plan of the present state. */
export type Infrastructure = {
  readonly plan: (wanted: string) => { readonly plan: string; readonly serial: number };
  readonly apply: (plan: string, serial: number) => 'applied' | 'stale';
};

export const digestOf = (plan: string): string => createHash('sha256').update(plan).digest('hex');

/**
 * People approve one plan: its digest is an argument, so that the grant is for exactly this plan. The state refuses a plan of an
 * earlier serial: `fenced`.
 */
export const applyOf = (tool: Infrastructure) =>
  defineEffect({
    name: 'apply',
    title: 'Apply plan ${digest}',
    kind: 'deploy',
    effectClass: 'fenced',
    target: 'infrastructure',
    input: z.object({ plan: z.string(), digest: z.string(), serial: z.int() }),
    output: z.object({ serial: z.int() }),
    key: ({ digest, serial }) => `apply:${String(serial)}:${digest}`,
    preview: ({ plan }) => ({ plan }),
    run: ({ plan, digest, serial }) => {
      if (digestOf(plan) !== digest) throw nothingHappened('PLAN_ALTERED', 'the plan has another digest');
      if (tool.apply(plan, serial) === 'stale')
        throw nothingHappened('PLAN_STALE', 'the state has changed since the plan: plan again');
      return { serial: serial + 1 };
    },
  });
