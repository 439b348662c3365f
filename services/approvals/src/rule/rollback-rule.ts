import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import { RuleId } from '@holdpoint/contracts/values/ids';
import { tableIn } from '@holdpoint/contracts/values/json';
import type { RuleSpec, RuleSubject } from '@holdpoint/contracts/approval/standing-rule';

/** The built-in rule. Rule ids are hashes without `l` and `o`, so this id cannot collide with one. */
export const ROLLBACK_RULE = RuleId.parse('u-rollbackwt');

/** Author of the built-in rule. */
export const BUILT_IN: Member = { name: 'holdpoint', groups: [] };

const USES = 'cap.env.builtin.git.rollback';
/** Worktrees of tasks in their repository, as the prepare stage names them. */
const WORKTREE = /^\.holdpoint\/worktrees\/[A-Za-z0-9_-]+$/;

/** Shown in lists only: a match cannot express all of {@link decidesRollback}. */
export const ROLLBACK_SPEC: RuleSpec = {
  name: 'rollback-in-worktree',
  match: {
    capability: USES,
    target: 'worktree:.holdpoint/worktrees/*',
    arguments: { 'with.isolated': 'true' },
  },
};

/**
 * Whether the built-in rule approves the request: a rollback that the orchestrator ordered for a verdict, in the
 * isolated worktree that the failed task made, for which one approver is enough. Such a rollback affects no
 * other work and keeps the previous state. In a shared checkout, and on request of anybody else, a person decides.
 */
export const decidesRollback = (
  request: Omit<RuleSubject, 'requestedBy'> & Pick<RequestApproval, 'rollbackOf'>,
): boolean => {
  const { effect, rollbackOf } = request;
  const { kind, uses, args, target } = effect;
  if (kind !== 'destructive_edit' || uses !== USES) return false;
  const { rules, quorum, fourEyes, decisions } = policyOf(request);
  if (!rules || quorum > 1 || fourEyes || !decisions.includes('approve')) return false;
  const { isolated, worktree } = tableIn(args, 'with');
  const { worktree: worksIn = worktree } = tableIn(args, 'context');
  if (isolated !== true || typeof worktree !== 'string' || !WORKTREE.test(worktree)) return false;
  if (rollbackOf?.worktree !== worktree) return false;
  return target === `worktree:${worktree}` && worksIn === worktree;
};
