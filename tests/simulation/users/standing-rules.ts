import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type RuleId, ruleIdOf } from '@holdpoint/contracts/values/ids';
import type { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { ruleDecides, type Rule } from '@holdpoint/approvals/rule/state';
import type { Cluster } from '../services/cluster.ts';
import { PEOPLE } from '../workload/gates.ts';
import type { Call } from './approvers.ts';
import type { World } from '../world.ts';

const WITHIN_MS = 20_000;
const REVOKED = 0.4;
const MISMATCH_RATE = 0.1;

const SPECS: readonly RuleSpec[] = [
  { name: 'twice', match: { capability: 'cap.*', kinds: ['write_external', 'other'] }, usesMax: 2 },
  { name: 'notices', match: { capability: 'cap.notify.*', kinds: ['notify'] } },
  {
    name: 'first nodes',
    match: { capability: 'cap.file.*', arguments: { text: '*n0*' } },
    expiresInMs: 60_000,
    usesMax: 3,
  },
];

const isRule = (state: { readonly status: string }): state is Rule => state.status === 'rule';

/** The rules that match the request, and sometimes one that does not. */
export const rulesFor =
  ({ books, choices, timeline }: World) =>
  (request: RequestApproval): readonly RuleId[] => {
    const rules = [...books.approvals.states.values()].filter(isRule);
    const odd = choices.happens(`odd rule for ${request.id}`, MISMATCH_RATE);
    return rules.filter((rule) => odd || ruleDecides(rule, request, timeline.now())).map(({ id }) => id);
  };

/** Users who add standing rules, and some who revoke them. */
export const startRules = (world: World, cluster: Cluster, call: Call): void => {
  const { timeline, choices } = world;
  for (const spec of SPECS) {
    const id = ruleIdOf('somebody', spec.name);
    const author = choices.pick(`author of ${spec.name}`, [PEOPLE.ada, PEOPLE.linus, PEOPLE.mallory]);
    const at = choices.between(`add ${spec.name}`, 0, WITHIN_MS);
    timeline.in(at, () =>
      call(cluster.approvals, {
        kind: 'rule',
        aggregate: id,
        message: { kind: 'add_rule', id, spec, author },
      }),
    );
    if (!choices.happens(`revoke ${spec.name}`, REVOKED)) continue;
    const message = { kind: 'revoke_rule', id, by: author, administrator: false } as const;
    timeline.in(at + choices.between(`revoked ${spec.name}`, 0, WITHIN_MS), () =>
      call(cluster.approvals, { kind: 'rule', aggregate: id, message }),
    );
  }
};
