import type { RunEffect } from '@holdpoint/contracts/effect/effect';
import type { Registry } from '../../ports/handler-registry.ts';

/** What an order talks to, by its name outside; undefined where it has none, or its arguments are none. */
export const targetOf =
  (capabilities: Registry) =>
  ({ effect: { uses, args } }: RunEffect): string | undefined => {
    const carrier = capabilities.get(uses);
    if (carrier?.target === undefined) return undefined;
    const input = carrier.input.safeParse(args);
    return input.success ? carrier.target(input.data) : undefined;
  };
