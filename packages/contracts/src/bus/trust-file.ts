import { z } from 'zod';

/** SPKI in PEM. */
const Pems = z.array(z.string().max(10_000)).max(20);

/** Content of the trust file: the public keys of the services with a key file, by role. Executors enrol theirs. */
export const TrustFile = z.strictObject({
  approvals: Pems.min(1),
  orchestrator: Pems.default([]),
  recovery: Pems.default([]),
  /** Keys that were in use before. Their messages are ignored, but are no forgeries. */
  retired: Pems.default([]),
});
export type TrustFile = z.infer<typeof TrustFile>;

/** The keys in the text of a trust file, unread. Throws `TypeError`. */
export const parseTrustFile = (text: string): TrustFile => {
  try {
    return TrustFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new TypeError('not JSON with a list of keys for each service', { cause });
  }
};
