import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Mix, Mode, ModeSetting } from './modes.ts';

export const Flavour = z.enum(['keyed', 'idempotent', 'opaque', 'fenced', 'probeable']);
export type Flavour = z.infer<typeof Flavour>;

const stamp = {
  /** Wall clock. */
  at: z.iso.datetime(),
  /** Nanoseconds of the monotonic clock, comparable between the processes of a machine. */
  mono: z.string().regex(/^\d+$/),
} as const;
const number = z.int().min(1);
const key = z.string().nullable();
const epoch = z.int().min(0).nullable();
const digest = z.string().regex(/^[0-9a-f]{64}$/);

const Opened = z.object({
  type: z.literal('opened'),
  ...stamp,
  seed: z.string(),
  mode: ModeSetting,
  mix: Mix,
});
const Controlled = z.object({
  type: z.literal('control'),
  ...stamp,
  mode: ModeSetting,
  mix: Mix,
  release: z.boolean(),
});
/** A request as it came in. `digest` is null where its body was not read whole. */
const Request = z.object({
  type: z.literal('request'),
  ...stamp,
  n: number,
  flavour: Flavour,
  method: z.string(),
  path: z.string(),
  key,
  epoch,
  digest: digest.nullable(),
  bytes: z.int().min(0),
  /** How many requests of this key, or of this path without one, have come in with it. */
  arrival: number,
  mode: Mode,
});
/** One application: what must not happen twice. */
const Applied = z.object({
  type: z.literal('applied'),
  ...stamp,
  n: number,
  flavour: Flavour,
  path: z.string(),
  key,
  epoch,
  digest,
});
/** The target knew the key, and applied nothing. `of` is the request that was applied. */
const Repeated = z.object({ type: z.literal('repeated'), ...stamp, n: number, key: z.string(), of: number });
/** Nothing was applied, and this was the answer. */
const Refused = z.object({
  type: z.literal('refused'),
  ...stamp,
  n: number,
  flavour: Flavour,
  key,
  epoch,
  status: z.int(),
});
/** To be applied later, whatever its sender believes. */
const Held = z.object({ type: z.literal('held'), ...stamp, n: number, key, until: z.iso.datetime() });
const Probed = z.object({
  type: z.literal('probed'),
  ...stamp,
  n: number,
  flavour: Flavour,
  key: z.string(),
  epoch,
  applied: z.boolean(),
});

/** One line of the ground truth. */
export const LedgerRecord = z.discriminatedUnion('type', [
  Opened,
  Controlled,
  Request,
  Applied,
  Repeated,
  Refused,
  Held,
  Probed,
]);
export type LedgerRecord = z.infer<typeof LedgerRecord>;
export type RequestRecord = z.infer<typeof Request>;
export type AppliedRecord = z.infer<typeof Applied>;

/** Throws on a line that is none of ours; a last line without an end was cut off, and so was never answered. */
export const parseLedger = (text: string): readonly LedgerRecord[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => LedgerRecord.parse(JSON.parse(line)));

export const readLedger = async (file: string): Promise<readonly LedgerRecord[]> =>
  parseLedger(await readFile(file, 'utf8'));

/** Of a running counter server: everything that it has answered for so far. */
export const fetchLedger = async (origin: string): Promise<readonly LedgerRecord[]> => {
  const response = await fetch(new URL('/ledger', origin));
  if (!response.ok) throw new Error(`the counter server answered ${String(response.status)}`);
  return parseLedger(await response.text());
};

const byKey = <Found extends { readonly key: string | null }>(
  found: readonly Found[],
): ReadonlyMap<string, readonly Found[]> => {
  const keyed = found.flatMap((record) => (record.key === null ? [] : [[record.key, record] as const]));
  return new Map(
    [...Map.groupBy(keyed, ([of]) => of)].map(([of, pairs]) => [of, pairs.map(([, one]) => one)]),
  );
};

/** Every application of each key, in order. Requests without a key are in nobody's account. */
export const applicationsByKey = (
  records: readonly LedgerRecord[],
): ReadonlyMap<string, readonly AppliedRecord[]> =>
  byKey(records.filter((record) => record.type === 'applied'));

/** Every request of each key, in order, whatever came of it. */
export const requestsByKey = (
  records: readonly LedgerRecord[],
): ReadonlyMap<string, readonly RequestRecord[]> =>
  byKey(records.filter((record) => record.type === 'request'));

/** Requests that were put off and have not been dealt with since. */
export const heldStill = (records: readonly LedgerRecord[]): readonly RequestRecord[] => {
  const held = new Set<number>();
  for (const record of records) {
    if (record.type === 'held') held.add(record.n);
    if (record.type === 'applied' || record.type === 'repeated' || record.type === 'refused')
      held.delete(record.n);
  }
  return records.filter((record) => record.type === 'request').filter(({ n }) => held.has(n));
};
