import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AuditReport, type AuditVerifier, createAuditVerifier } from '@holdpoint/contracts/audit/verify';
import { createVerifier, keyIdOf } from '@holdpoint/contracts/values/jws';
import { type PublishedKeys, publicKeysIn, vouchedFor } from '@holdpoint/contracts/approval/signing-keys';
import type { KeyObject } from 'node:crypto';
import type { Client } from '../bus/client.ts';
import { UsageError } from '../kit/usage-error.ts';
import { damaged, exportParts, truncated } from './export-file.ts';
import { fetchAnchors, fetchLines } from './fetch.ts';

export type Verification = {
  readonly report: AuditReport;
  readonly keys: readonly string[];
  /** An export that brought its own keys proves no more than that its parts fit together. */
  readonly isSelfSigned: boolean;
  /** Limitations of the result. */
  readonly warnings: readonly string[];
};

/** The trusted keys: from a file, or from the log itself. */
export const readKeys = (name: string | undefined, directory: string): readonly KeyObject[] | undefined => {
  if (name === undefined) return undefined;
  try {
    return publicKeysIn(readFileSync(resolve(directory, name), 'utf8'));
  } catch (cause) {
    const problem = cause instanceof TypeError ? cause.message : 'cannot be read';
    throw new UsageError(`${name}: ${problem}`, { cause });
  }
};

const trustedWith = (
  given: readonly KeyObject[] | undefined,
  published: PublishedKeys,
): readonly KeyObject[] => {
  const own = given ?? published.keys.flatMap(({ publicKey }) => publicKeysIn(publicKey));
  const { keys, retired } = vouchedFor(own, published.statements);
  return [...keys, ...retired];
};

const KEYS_FROM_LOG = 'verified with the keys in the log itself; use --keys for keys that you trust';
const ANCHORS_UNREAD = 'could not read the anchors on the bus: a rewrite of the whole log would go unnoticed';
const UNANCHORED = 'no anchor found: the content of the log is not signed';

const startVerification = (
  given: readonly KeyObject[] | undefined,
  published: PublishedKeys,
  anchors: readonly string[],
): { readonly verifier: AuditVerifier; readonly finish: (more?: readonly string[]) => Verification } => {
  const trusted = trustedWith(given, published);
  const verifier = createAuditVerifier({ anchors, verify: createVerifier(trusted) });
  return {
    verifier,
    finish: (more = []) => {
      const report = verifier.finish();
      const warnings = [
        ...more,
        ...(given === undefined ? [KEYS_FROM_LOG] : []),
        ...(report.lines > 0 && report.anchors === 0 ? [UNANCHORED] : []),
      ];
      return { report, keys: trusted.map(keyIdOf), isSelfSigned: false, warnings };
    },
  };
};

export type VerifyOptions = {
  readonly keys: readonly KeyObject[] | undefined;
  /** Anchors from an earlier export. */
  readonly anchors: readonly string[];
};

export const verifyLog = async (client: Client, { keys, anchors }: VerifyOptions): Promise<Verification> => {
  const published = await client.call('approvals', 'keys', {});
  // Read anchors first: an anchor written later could name lines that were not read.
  const onBus = await fetchAnchors(client);
  const { verifier, finish } = startVerification(keys, published, [...anchors, ...(onBus ?? [])]);
  for await (const line of fetchLines(client)) verifier.take(line);
  return finish(onBus === undefined ? [ANCHORS_UNREAD] : []);
};

export const verifyExport = (
  name: string,
  directory: string,
  { keys, anchors }: VerifyOptions,
): Verification => {
  const parts = exportParts(name, directory);
  const first = parts.next();
  if (first.done === true || first.value.kind !== 'keys') throw truncated(name, 'its keys are missing');
  const { kind: _, ...published } = first.value;
  const kept: string[] = [...anchors];
  let verification: ReturnType<typeof startVerification> | undefined;
  let count = 0;
  for (const part of parts) {
    if (part.kind === 'anchor' && verification === undefined) kept.push(part.statement);
    else if (part.kind === 'line') {
      verification ??= startVerification(keys, published, kept);
      verification.verifier.take(part.line);
      count += 1;
    } else if (part.kind !== 'end') throw damaged(name);
    else if (part.lines !== count) throw truncated(name, `expected ${String(part.lines)} lines`);
  }
  const verified = (verification ?? startVerification(keys, published, kept)).finish();
  return { ...verified, isSelfSigned: keys === undefined };
};
