import { parseTrustFile, type TrustFile } from '@holdpoint/contracts/bus/trust-file';
import type { SealingService } from './layout.ts';

export const trustOf = (keys: Readonly<Record<SealingService, string>>): TrustFile => ({
  approvals: [keys.approvals],
  orchestrator: [keys.orchestrator],
  recovery: [keys.recovery],
  retired: [],
});

export const trustText = (trust: TrustFile): string => `${JSON.stringify(trust, null, 2)}\n`;

/** Throws when the text is no trust file. */
export const parseTrust = (text: string): TrustFile => {
  try {
    return parseTrustFile(text);
  } catch (cause) {
    throw new Error('trust.json: not JSON with a list of keys for each service', { cause });
  }
};
