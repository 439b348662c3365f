import type { KeyObject } from 'node:crypto';
import { publicKeysIn, type PublishedKeys } from '@holdpoint/contracts/approval/signing-keys';
import { keysIn, rotatedKeys } from '@holdpoint/contracts/effect/check-grant';

/**
 * Public keys of approvals. `pinned` is a PEM text; without it, the keys of the first answer are trusted. Later keys count only if a
 * trusted key vouches for them.
 */
export const createTrust = (fetchKeys: () => Promise<PublishedKeys>, pinned?: string) => {
  let trusted: readonly KeyObject[] | undefined = pinned === undefined ? undefined : publicKeysIn(pinned);
  const refresh = async (): Promise<readonly KeyObject[]> => {
    const published = await fetchKeys();
    trusted = trusted === undefined ? keysIn(published) : rotatedKeys(trusted, published);
    return trusted;
  };
  return { keys: async () => trusted ?? refresh(), refresh };
};
