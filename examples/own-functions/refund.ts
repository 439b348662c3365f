import { defineEffect, nothingHappened } from '@holdpoint/sdk/http';
import { z } from 'zod';

/**
 * A refund at a payment API that remembers idempotency keys: `keyed`. After a crash it is sent again, and the API returns the first
 * refund.
 */
export const refundAt = (api: string) =>
  defineEffect({
    name: 'refund',
    title: 'Refund ${cents} cents of charge ${charge}',
    kind: 'write_external',
    effectClass: 'keyed',
    target: 'payments:${charge}',
    input: z.object({ charge: z.string(), cents: z.int().positive() }),
    output: z.object({ refund: z.string() }),
    key: ({ charge }) => `refund:${charge}`,
    run: async ({ charge, cents }, { key, signal }) => {
      const response = await fetch(`${api}/refunds`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ charge, amount: cents }),
        signal,
      });
      // Only this answer states that nothing happened.
      if (response.status === 402) throw nothingHappened('CARD_DECLINED', await response.text());
      if (!response.ok) throw new Error(`the payment API answers ${String(response.status)}`);
      const { id } = (await response.json()) as { readonly id: string };
      return { refund: id };
    },
  });
