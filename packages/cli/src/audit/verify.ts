import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AuditReport, type AuditVerifier, createAuditVerifier } from '@holdpoint/contracts/audit/verify';
import { createVerifier, keyIdOf } from '@holdpoint/contracts/values/jws';
import { type PublishedKeys, publicKeysIn, vouchedFor } from '@holdpoint/contracts/approval/signing-keys';
import type { KeyObject } from 'node:crypto';
import type { Client } from '../bus/client.ts';
import { UsageError } from '../kit/usage-error.ts';
import { exportParts } from './export-file.ts';
import { fetchAnchors, fetchLines } from './fetch.ts';

/** What a log was verified with, and what came of it. */
export type Verified = {
  readonly report: AuditReport;
  readonly keys: readonly string[];
  /** What keeps the outcome from meaning more. */
  readonly warnings: readonly string[];
};

/** Whom the user trusts: the keys of a file, or, without one, those that the log brings along. */
export const readKeys = (name: string | undefined, directory: string): readonly KeyObject[] | undefined => {
  if (name === undefined) return undefined;
  try {
    return publicKeysIn(readFileSync(resolve(directory, name), 'utf8'));
  } catch (cause) {
    const problem = cause instanceof TypeError ? cause.message : 'it cannot be read';
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

const BROUGHT =
  'the keys are those that the log brought along: with --keys it is verified with public keys of your own';
const UNREAD =
  'the anchors on the bus could not be read: a log that was rewritten as a whole would not be noticed';
const UNANCHORED = 'no anchor was found: nobody has signed what the log says';

const begin = (
  given: readonly KeyObject[] | undefined,
  published: PublishedKeys,
  anchors: readonly string[],
): { readonly verifier: AuditVerifier; readonly finish: (more?: readonly string[]) => Verified } => {
  const trusted = trustedWith(given, published);
  const verifier = createAuditVerifier({ anchors, verify: createVerifier(trusted) });
  return {
    verifier,
    finish: (more = []) => {
      const report = verifier.finish();
      const warnings = [
        ...more,
        ...(given === undefined ? [BROUGHT] : []),
        ...(report.lines > 0 && report.anchors === 0 ? [UNANCHORED] : []),
      ];
      return { report, keys: trusted.map(keyIdOf), warnings };
    },
  };
};

export type VerifyOptions = {
  readonly keys: readonly KeyObject[] | undefined;
  /** Anchors that were kept from before. */
  readonly anchors: readonly string[];
};

/** The log as the service has it now. */
export const verifyLog = async (client: Client, { keys, anchors }: VerifyOptions): Promise<Verified> => {
  const published = await client.call('approvals', 'keys', {});
  // Before the lines: what is anchored meanwhile is none that they could lack.
  const onBus = await fetchAnchors(client);
  const { verifier, finish } = begin(keys, published, [...anchors, ...(onBus ?? [])]);
  for await (const line of fetchLines(client)) verifier.take(line);
  return finish(onBus === undefined ? [UNREAD] : []);
};

/** The same of an export. */
export const verifyExport = (name: string, directory: string, { keys, anchors }: VerifyOptions): Verified => {
  const parts = exportParts(name, directory);
  const first = parts.next();
  if (first.done === true || first.value.kind !== 'keys')
    throw new UsageError(`${name} is not an export of the audit log`);
  const { kind: _, ...published } = first.value;
  const kept: string[] = [...anchors];
  let begun: ReturnType<typeof begin> | undefined;
  let count = 0;
  for (const part of parts) {
    if (part.kind === 'anchor' && begun === undefined) kept.push(part.statement);
    else if (part.kind === 'line') {
      begun ??= begin(keys, published, kept);
      begun.verifier.take(part.line);
      count += 1;
    } else if (part.kind !== 'end') throw new UsageError(`${name} is not an export of the audit log`);
    else if (part.lines !== count)
      throw new UsageError(`${name} is not whole: it had ${String(part.lines)} lines`);
  }
  return (begun ?? begin(keys, published, kept)).finish();
};
