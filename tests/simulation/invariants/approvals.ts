import type { ApprovalEvent, ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { argumentProblems } from '@holdpoint/contracts/effect/arguments';
import { choicesOf, policyOf } from '@holdpoint/contracts/approval/question';
import { inputProblems } from '@holdpoint/contracts/workflow/input';
import { type Deciders, mayDecide } from '@holdpoint/contracts/workflow/audience';
import type { ApprovalState, Pending } from '@holdpoint/approvals/approval/state';
import type { Change } from '../event-states.ts';
import { PEOPLE } from '../workload/gates.ts';
import { verifyGrant } from '../services/grants.ts';
import { ROLLBACK_RULE } from '@holdpoint/approvals/rule/rollback-rule';
import type { World } from '../world.ts';

const isEntitled = (deciders: Deciders, name: string): boolean =>
  Object.values(PEOPLE).some((person) => person.name === name && mayDecide(deciders, person));

/**
 * The built-in policy floor, independent of the product's code: a merge, a deploy or a destructive edit needs an operator other
 * than the requester. A weaker policy of the request does not count.
 */
const checkFloor = (
  { checker }: World,
  { request }: Pending,
  names: ReadonlySet<string>,
  event: ApprovalResolved,
): void => {
  const { effect, requestedBy, rollbackOf } = request;
  if (!['merge', 'deploy', 'destructive_edit'].includes(effect.kind)) return;
  if (rollbackOf !== undefined && effect.uses === 'cap.env.builtin.git.rollback') return;
  checker.expect(
    'an effect that is hard to undo is approved by an operator who did not ask, even if the request demands less',
    event.rule === undefined &&
      !names.has(requestedBy) &&
      [...names].every((name) => isEntitled({ audience: ['operators'] }, name)),
    event.id,
    () => `${[...names].join(', ')} approved ${effect.kind} of ${requestedBy}`,
  );
};

/** The approvers are entitled, and the requester is not one of them under four eyes. */
const checkWhoDecided = (world: World, before: Pending, event: ApprovalResolved): void => {
  const { checker, books, askers } = world;
  const { request, audience } = before;
  const { fourEyes } = policyOf(request);
  // The built-in rule has no author. A separate check limits its decisions.
  if (event.rule === ROLLBACK_RULE) return;
  const rule = event.rule === undefined ? undefined : books.approvals.stateOf(event.rule);
  const votes = event.votes ?? [];
  const names = new Set(
    rule?.status === 'rule'
      ? [rule.author.name]
      : votes.length > 0
        ? votes.filter(({ decision }) => decision === 'approve').map(({ by }) => by)
        : [event.by],
  );
  checker.expect(
    'only members of the audience approve',
    [...names].every((name) => isEntitled({ audience, floor: request.floor }, name)),
    event.id,
    () => `${[...names].join(', ')} approved for ${audience.join(', ')}`,
  );
  checkFloor(world, before, names, event);
  checker.expect(
    'a requester does not approve their own request under four eyes',
    !fourEyes || !names.has(request.requestedBy),
    event.id,
    () => `${request.requestedBy} approved his own`,
  );
  const asker = askers.get(request.task);
  checker.expect(
    'under four eyes a second person approves, even if the requester used another name',
    !fourEyes || asker === undefined || [...names].some((name) => name !== asker),
    event.id,
    () => `${[...names].join(', ')} approved the request of ${String(asker)}, as ${request.requestedBy}`,
  );
};

/** Only the audience answers, with one of the allowed choices. */
const checkAnswer = (
  { checker }: World,
  { request, audience }: Pending,
  { id, by, answer, response }: ApprovalResolved,
): void => {
  if (request.input !== undefined) {
    checker.expect(
      'a question of a program is answered by its audience with a valid response',
      response !== undefined &&
        inputProblems(request.input, response).length === 0 &&
        isEntitled({ audience, floor: request.floor }, by),
      id,
      () => `${by} said ${JSON.stringify(response)} of ${audience.join(', ')}`,
    );
    return;
  }
  const choices: readonly string[] = choicesOf(request);
  checker.expect(
    'a question is answered by its audience with one of its choices',
    answer !== undefined && choices.includes(answer) && isEntitled({ audience, floor: request.floor }, by),
    id,
    () => `${by} said ${String(answer)}: ${choices.join(', ')} of ${audience.join(', ')}`,
  );
};

/** The preview is the executor's own, and a question about a job or a start has other arguments. */
const checkArguments = (
  { checker }: World,
  { id, effect, inDoubt, stuck }: Extract<ApprovalEvent, { readonly type: 'requested' }>,
): void => {
  if (inDoubt !== undefined || stuck !== undefined || effect.kind === 'other') return;
  const { preview: _, ...own } = effect.args;
  const [problem] = argumentProblems(effect.uses, own);
  checker.expect(
    'people decide only about arguments that an executor may accept',
    problem === undefined,
    id,
    () => `${effect.uses} ${JSON.stringify(problem)}`,
  );
};

/** Who decided an approval, and for what its grant is valid. */
export const checkApproval = (
  world: World,
  { aggregate, before, event }: Change<ApprovalState, ApprovalEvent>,
): void => {
  const { checker } = world;
  if (event.type === 'requested') checkArguments(world, event);
  if (event.type !== 'resolved') return;
  if (event.outcome === 'answered' && before.status === 'pending') checkAnswer(world, before, event);
  if (event.outcome !== 'approved' || before.status !== 'pending') return;
  const { request } = before;
  checkWhoDecided(world, before, event);
  const claims = event.grant === undefined ? undefined : verifyGrant(event.grant);
  const exact =
    claims?.digest === request.digest && claims.sub === request.effectId && claims.jti === event.id;
  checker.expect('a grant is for exactly the approved effect', exact, aggregate, () =>
    JSON.stringify({ claims, request }),
  );
};
