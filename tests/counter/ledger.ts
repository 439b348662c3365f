import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Mix, Mode, ModeSetting } from './modes.ts';

export const Flavour = z.enum(['keyed', 'idempotent', 'opaque', 'fenced', 'probeable']);
export type Flavour = z.infer<typeof Flavour>;

const stamp = {
  at: z.iso.datetime(),
  /** Nanoseconds of the monotonic clock, comparable between processes of a machine. */
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
/** A received request. `digest` is null when its body was not read. */
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
  /** The number of requests with this key (or path) so far. */
  arrival: number,
  mode: Mode,
});
/** One application by the target. */
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
/** The target knew the key and applied nothing. `of` is the applied request. */
const Repeated = z.object({ type: z.literal('repeated'), ...stamp, n: number, key: z.string(), of: number });
/** Nothing was applied; the answer has this status. */
const Refused = z.object({
  type: z.literal('refused'),
  ...stamp,
  n: number,
  flavour: Flavour,
  key,
  epoch,
  status: z.int(),
});
/** The target applies it later, also after its sender gave up. */
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

/** Throws on an invalid line. A last line without a line end was cut and never answered. */
export const parseLedger = (text: string): readonly LedgerRecord[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => LedgerRecord.parse(JSON.parse(line)));

export const readLedger = async (file: string): Promise<readonly LedgerRecord[]> =>
  parseLedger(await readFile(file, 'utf8'));

/** All records that a running counter has answered for. */
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

/** By key: every application in order. Requests without a key are left out. */
export const applicationsByKey = (
  records: readonly LedgerRecord[],
): ReadonlyMap<string, readonly AppliedRecord[]> =>
  byKey(records.filter((record) => record.type === 'applied'));

/** By key: every request in order. */
export const requestsByKey = (
  records: readonly LedgerRecord[],
): ReadonlyMap<string, readonly RequestRecord[]> =>
  byKey(records.filter((record) => record.type === 'request'));

/** Delayed requests without an outcome. */
export const heldStill = (records: readonly LedgerRecord[]): readonly RequestRecord[] => {
  const held = new Set<number>();
  for (const record of records) {
    if (record.type === 'held') held.add(record.n);
    if (record.type === 'applied' || record.type === 'repeated' || record.type === 'refused')
      held.delete(record.n);
  }
  return records.filter((record) => record.type === 'request').filter(({ n }) => held.has(n));
};
