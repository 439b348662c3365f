import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import { RuleId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { RuleSpec, RuleSubject } from '@holdpoint/contracts/approval/standing-rule';

/** The one rule that nobody has to add. No hash that a rule is called by has an `l` or an `o` in it: it is nobody else's. */
export const ROLLBACK_RULE = RuleId.parse('u-rollbackwt');

/** Who answers for it. */
export const BUILT_IN: Member = { name: 'holdpoint', groups: [] };

const USES = 'cap.env.builtin.git.rollback';
/** Where worktrees of tasks are, in their repository: folders of one name each, as preparing makes them. */
const WORKTREE = /^\.holdpoint\/worktrees\/[A-Za-z0-9_-]+$/;

/** What it says of itself in lists. What it decides on is told by {@link decidesRollback}: no match can say all of that. */
export const ROLLBACK_SPEC: RuleSpec = {
  name: 'rollback-in-worktree',
  match: {
    capability: USES,
    target: 'worktree:.holdpoint/worktrees/*',
    arguments: { 'with.isolated': 'true' },
  },
};

/** A part of the arguments of a step: what it is told to do, or where it works. */
const partOf = (args: JsonObject, name: 'with' | 'context'): JsonObject =>
  JsonObject.safeParse(args[name]).data ?? {};

/**
 * Whether a request is for what the rule approves: a rollback in the isolated worktree of a task, which touches nobody else's
 * work and keeps what was there, as long as one person would be enough for it. In a shared checkout a person looks at it.
 */
export const decidesRollback = ({ effect, ...asked }: Omit<RuleSubject, 'requestedBy'>): boolean => {
  const { rules, quorum, fourEyes, decisions } = policyOf(asked);
  if (!rules || quorum > 1 || fourEyes || !decisions.includes('approve')) return false;
  const { kind, uses, args, target } = effect;
  if (kind !== 'destructive_edit' || uses !== USES) return false;
  const { isolated, worktree } = partOf(args, 'with');
  const { worktree: worksIn = worktree } = partOf(args, 'context');
  if (isolated !== true || typeof worktree !== 'string' || !WORKTREE.test(worktree)) return false;
  return target === `worktree:${worktree}` && worksIn === worktree;
};
