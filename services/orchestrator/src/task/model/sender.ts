import type { Member } from '@holdpoint/contracts/workflow/audience';

/** Who sent a command: a service, a person with a verified identity or their agent, or anybody. */
export type Sender =
  | { readonly kind: 'service' }
  | ({ readonly kind: 'person'; readonly agent?: string } & Member)
  | { readonly kind: 'unverified' };
