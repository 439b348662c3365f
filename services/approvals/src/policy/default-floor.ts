import { PolicyFloor } from '@holdpoint/contracts/approval/policy-floor';
import { ALWAYS_A_PERSON } from '@holdpoint/contracts/workflow/approval-policy';
import { compileFloor } from './compile-floor.ts';

/** The floor without a file: an operator who did not ask decides on whatever is hard to take back. */
export const DEFAULT_FLOOR = compileFloor(
  PolicyFloor.parse({
    floor: [
      {
        name: 'hard-to-undo',
        match: { kinds: [...ALWAYS_A_PERSON] },
        except: [
          {
            capabilities: ['cap.env.builtin.git.rollback'],
            targets: ['worktree:.holdpoint/worktrees/*'],
            verdict: true,
          },
        ],
        audience: ['operators'],
        fourEyes: true,
        rules: false,
      },
    ],
  }),
);
