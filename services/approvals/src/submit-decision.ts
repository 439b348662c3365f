import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { DecideMany } from '@holdpoint/contracts/approval/queries';
import type { DecideApproval } from '@holdpoint/contracts/approval/commands';
import type { Surface } from '@holdpoint/contracts/approval/status';
import { HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Principal } from './approval/state.ts';
import type { ServiceMessage } from './aggregates.ts';

export type DecisionResult = ApiResponse<'approvals', 'decide'>;

/** Surface and trace of a decision. */
export type Via = { readonly surface: Surface; readonly trace?: string | undefined };

/** The only way to decide a request, for every surface. */
export type DecisionSubmitter = ReturnType<typeof createDecisionSubmitter>;

/** `isTokenOf` checks the token of a notice against its approval. */
export const createDecisionSubmitter = (
  engine: Pick<Engine<ServiceMessage>, 'accept'>,
  isTokenOf: (id: string, token: string) => boolean,
) => {
  /** Resolves once the decision is stored. Throws `HoldpointError`. */
  const decide = async (
    by: Principal,
    payload: DecideApproval,
    { surface, trace }: Via,
    isOneOfMany = false,
  ): Promise<DecisionResult> => {
    const { id, token, digest } = payload;
    if (digest === undefined)
      throw new HoldpointError(
        'APPROVALS_DIGEST_REQUIRED',
        'add "digest" with the digest of the effect, as the request shows it',
      );
    if (token !== undefined && !isTokenOf(id, token))
      throw new HoldpointError('APPROVALS_TOKEN_MISMATCH', 'the token does not belong to this approval');
    const message = { kind: 'decide', payload, by, surface, isOneOfMany } as const;
    const answer = await awaitCommit(engine, { kind: 'approval', aggregate: id, message }, trace);
    return answer as DecisionResult;
  };

  return {
    decide,
    /** Each item is decided separately: an error for one does not affect the others. */
    decideMany: async (
      by: Principal,
      { items, ...choice }: DecideMany,
      via: Via,
    ): Promise<ApiResponse<'approvals', 'decide_many'>> => ({
      items: await Promise.all(
        items.map(async (item) => {
          try {
            const decided = await decide(by, { ...item, ...choice }, via, true);
            return { id: item.id, decided };
          } catch (error) {
            if (error instanceof HoldpointError) return { id: item.id, error: toErrorBody(error) };
            throw error;
          }
        }),
      ),
    }),
  };
};
