import { remoteTargetOf } from '@holdpoint/contracts/approval/capability';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import { defineEffect, type RemoteContext } from '@holdpoint/sdk/http';
import { z } from 'zod';

/** A request to the counter. */
const Call = z.object({ url: z.url(), body: z.record(z.string(), z.string()) });
type Call = z.infer<typeof Call>;

/** The counter leaves some requests without an answer. Otherwise `fetch` waits for five minutes. */
const ANSWERED_WITHIN_MS = 10_000;

const counted = (effectClass: 'keyed' | 'opaque') =>
  defineEffect({
    name: `torture_${effectClass}`,
    title: 'count ${url} once',
    effectClass,
    kind: 'write_external',
    input: Call,
    key: ({ url }) => url,
    run: async ({ url, body }: Call, { id, epoch, signal, assertInForce }: RemoteContext) => {
      await assertInForce();
      const { ok, status } = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'holdpoint-effect': id,
          'holdpoint-epoch': String(epoch),
          ...(effectClass === 'keyed' && { 'idempotency-key': id }),
        },
        body: canonicalJson(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWERED_WITHIN_MS)]),
      });
      // The counter may have counted a request that it answers with an error.
      if (!ok) throw new Error(`the counter answered ${String(status)}`);
      return {};
    },
  });

const keyed = counted('keyed');
const opaque = counted('opaque');

/** The functions of claimants. */
export const claimedEffects = [keyed, opaque] as const;

/** A graph of its own whose effect a claimant carries out. */
export const claimedWorkflow = (node: string, isKeyed: boolean, call: Call) => {
  const { uses, definition } = isKeyed ? keyed : opaque;
  return {
    id: 'torture.claimed',
    version: '1',
    nodes: [
      {
        id: node,
        uses,
        after: [],
        args: call,
        effect: {
          kind: 'write_external' as const,
          effectClass: isKeyed ? ('keyed' as const) : ('opaque' as const),
          idempotencyKey: node,
          target: remoteTargetOf(definition, call),
          pool: 'default',
          audience: ['operators'],
          approvalTimeoutMs: 21_600_000,
        },
      },
      { id: 'done', uses: 'control.terminal', after: [node], args: {} },
    ],
  };
};
