import { createHash, randomBytes } from 'node:crypto';
import type { SignedIn } from '@holdpoint/contracts/approval/sign-in';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { type AccessTokenId, accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { ServiceMessage } from '../../../aggregates.ts';
import { type Attempts, tooManyAttempts } from '../attempts.ts';

/**
 * Exchanges the code of a sign-in link for the token of a new session. Throws `APPROVALS_SIGN_IN_REFUSED`,
 * `APPROVALS_TOO_MANY_ATTEMPTS` or `RUNTIME_UNAVAILABLE`.
 */
export type RedeemCode = (code: string, source: string) => Promise<SignedIn>;

type CodeParts = {
  readonly engine: Pick<Engine<ServiceMessage>, 'accept'>;
  /** Whether a token with this id exists: guesses do not reach the engine. */
  readonly isKnown: (id: AccessTokenId) => Promise<boolean>;
  readonly attempts: Attempts;
};

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const UNKNOWN = 'this sign-in link is unknown: get a new one with `holdpoint console`';

export const createRedeemCode =
  ({ engine, isKnown, attempts }: CodeParts): RedeemCode =>
  async (code, source) => {
    const sha256 = hashOf(code);
    const id = accessTokenIdOf(sha256);
    const token = `hpt_${randomBytes(32).toString('base64url')}`;
    try {
      if (!(await isKnown(id))) throw new HoldpointError('APPROVALS_SIGN_IN_REFUSED', UNKNOWN);
      const message = { kind: 'redeem_code', id, code: sha256, sha256: hashOf(token) } as const;
      await awaitCommit(engine, { kind: 'token', aggregate: id, message });
      return { token };
    } catch (error) {
      if (!hasCode(error, 'APPROVALS_SIGN_IN_REFUSED')) throw error;
      const wait = attempts.failed(source, 'unknown');
      throw wait === undefined ? error : tooManyAttempts(wait);
    }
  };
