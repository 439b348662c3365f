import { runCampaign, seedsFrom } from './campaign.ts';
import { TASKS } from './simulate.ts';
const c = await runCampaign(seedsFrom(1, 24), { tasks: TASKS, bug: {} });
console.log(
  [
    'executor probed',
    'executor not_applied',
    'orchestrator cancelled_before_submission',
    'executor refused',
  ].map((n) => `${n} ${c.seen.get(n)}`),
  c.struck.get('end of a program is missed'),
  c.struck.get('target applies and fails'),
  c.failed?.violation,
  c.failed?.seed,
);
