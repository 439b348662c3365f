import type { FloorBreach, FloorDemand, PolicyImpact } from '@holdpoint/contracts/approval/policy-floor';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import { mayDecide } from '@holdpoint/contracts/workflow/audience';
import { applyFloor, askedOf, demandsOf, isReachable } from './apply-floor.ts';
import type { CompiledFloor } from './compile-floor.ts';

type Strictness = ReturnType<typeof demandsOf>;

const audienceOf = ({ within }: Strictness): string => JSON.stringify(within);

/** The demands of one that exceed those of the other. */
const beyond = (one: Strictness, other: Strictness): readonly FloorDemand[] => {
  const isMore: Readonly<Record<FloorDemand, boolean>> = {
    audience: one.within.some((list) => !audienceOf(other).includes(JSON.stringify(list))),
    quorum: one.quorum > other.quorum,
    fourEyes: one.fourEyes && !other.fourEyes,
    rules: !one.rules && other.rules,
    timeout: one.timeoutMs < other.timeoutMs,
  };
  return (Object.keys(isMore) as FloorDemand[]).filter((demand) => isMore[demand]);
};

type Decided = Pick<ApprovalView, 'status' | 'rule' | 'votes' | 'decidedBy' | 'requestedAt' | 'decidedAt'>;

/** Why an approval would not have counted. The groups of people are those of today. */
const breachesOf = (
  view: ApprovalView,
  under: ReturnType<typeof applyFloor<ApprovalView>>,
  people: readonly Member[],
): readonly FloorBreach[] => {
  if (view.status !== 'approved') return [];
  const { rule, votes = [], decidedBy, requestedAt, decidedAt = requestedAt }: Decided = view;
  const { quorum, fourEyes, rules, timeoutMs } = demandsOf(under);
  const approvers = new Set(
    votes.length > 0
      ? votes.filter(({ decision }) => decision === 'approve').map(({ by }) => by)
      : [decidedBy],
  );
  const isOutside = [...approvers].some((name) => {
    const known = people.find((person) => person.name === name);
    return known !== undefined && !mayDecide(under, known);
  });
  const isBroken: Readonly<Record<FloorBreach, boolean>> = {
    unreachable: !isReachable(under, people),
    rules: rule !== undefined && !rules,
    quorum: rule === undefined && approvers.size < quorum,
    fourEyes: rule === undefined && fourEyes && approvers.has(view.requestedBy),
    audience: rule === undefined && isOutside,
    timeout: decidedAt - requestedAt > timeoutMs,
  };
  return (Object.keys(isBroken) as FloorBreach[]).filter((breach) => isBroken[breach]);
};

/** What the floor would have changed for a stored request; undefined when nothing. */
export const impactOf = (
  view: ApprovalView,
  floor: CompiledFloor,
  people: readonly Member[] = [],
): PolicyImpact | undefined => {
  const under = applyFloor(askedOf(view), floor);
  const [then, now] = [demandsOf(view), demandsOf(under)];
  const [stricter, weaker] = [beyond(now, then), beyond(then, now)];
  const breaks = questionOf(view) === 'effect' ? breachesOf(view, under, people) : [];
  if (stricter.length + weaker.length + breaks.length === 0) return undefined;
  const { id, task, title, effect, requestedBy, requestedAt, status, decidedBy } = view;
  return {
    id,
    task,
    title,
    kind: effect.kind,
    uses: effect.uses,
    target: effect.target,
    requestedBy,
    requestedAt,
    status,
    ...(decidedBy !== undefined && { decidedBy }),
    entries: [...(under.floor.entries ?? [])],
    stricter: [...stricter],
    weaker: [...weaker],
    breaks: [...breaks],
  };
};
