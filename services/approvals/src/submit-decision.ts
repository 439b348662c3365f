import type { ApiResponse, DecideMany } from '@holdpoint/contracts/catalog/catalog';
import type { DecideApproval, Surface } from '@holdpoint/contracts/approval/approval';
import { HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import { ask } from '@holdpoint/runtime/engine/ask';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Principal } from './approval/state.ts';
import type { DeskMessage } from './aggregates.ts';

export type Decided = ApiResponse<'approvals', 'decide'>;

/** Where it was made, and the trace that it is a part of. */
export type Via = { readonly surface: Surface; readonly trace?: string | undefined };

/** The one way in which a decision comes about, whatever surface it was made on. */
export type Decisions = ReturnType<typeof createDecisions>;

/** `isTokenOf` says whether a notice's token is the one of that approval. */
export const createDecisions = (
  engine: Pick<Engine<DeskMessage>, 'accept'>,
  isTokenOf: (id: string, token: string) => boolean,
) => {
  /** Answered once it is stored. Throws `HoldpointError`, with the code of whatever stands against it. */
  const decide = async (
    by: Principal,
    payload: DecideApproval,
    { surface, trace }: Via,
    isOneOfMany = false,
  ): Promise<Decided> => {
    const { id, token } = payload;
    if (token !== undefined && !isTokenOf(id, token))
      throw new HoldpointError('APPROVALS_TOKEN_MISMATCH', 'the token is not the one of this approval');
    const message = { kind: 'decide', payload, by, surface, isOneOfMany } as const;
    const answer = await ask(engine, { aggregate: id, message }, trace);
    return answer as Decided;
  };

  return {
    decide,
    /** Each on its own: one that is refused keeps back no other. */
    decideMany: async (
      by: Principal,
      { items, ...said }: DecideMany,
      via: Via,
    ): Promise<ApiResponse<'approvals', 'decide_many'>> => ({
      items: await Promise.all(
        items.map(async (item) => {
          try {
            const decided = await decide(by, { ...item, ...said }, via, true);
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
