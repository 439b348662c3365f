import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { Json } from '@holdpoint/contracts/values/json';
import { createTwoFilesPatch } from 'diff';

type Comparable = Pick<RequestApproval, 'effect' | 'body'>;

/** Lines that may differ. Beyond it a line-by-line comparison becomes too slow. */
const DIFFERENT_MAX = 500;
/** Characters of one line of a diff. */
const LINE_MAX = 2_000;
const CONTEXT = 3;

const sorted = (value: Json): Json => {
  if (Array.isArray(value)) return value.map((each: Json) => sorted(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, Json>>)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
};

/** A canonical text of the effect. Task and node are left out: they are equal. */
const effectLines = ({ uses, kind, target, effectClass, idempotencyKey, args }: CanonicalEffect): string =>
  `${JSON.stringify(sorted({ uses, kind, target, effectClass, idempotencyKey, args }), undefined, 2)}\n`;

const shortLine = (line: string): string =>
  line.length <= LINE_MAX
    ? line
    : `${line.slice(0, LINE_MAX)}… (${String(line.length - LINE_MAX)} more characters in this line)`;

const patchOf = (what: string, before: string, now: string): readonly string[] => {
  if (before === now) return [];
  const headers = [`--- ${what} before`, `+++ ${what} now`];
  const patch = createTwoFilesPatch(`${what} before`, `${what} now`, before, now, undefined, undefined, {
    context: CONTEXT,
    maxEditLength: DIFFERENT_MAX,
  });
  if (patch === undefined)
    return [
      ...headers,
      `(too different to be compared line by line: more than ${String(DIFFERENT_MAX)} lines)`,
    ];
  const lines = patch.split('\n');
  return lines.slice(lines.findIndex((line) => line.startsWith('--- '))).filter((line) => line !== '');
};

const CUT = '(cut: compare both in full)';

/** As many whole lines as fit, with a note when there are more. */
const within = (lines: readonly string[], max: number): string => {
  const whole = lines.join('\n');
  if (whole.length <= max) return whole;
  let text = '';
  for (const line of lines) {
    if (text.length + line.length + CUT.length + 1 > max) break;
    text += `${line}\n`;
  }
  return max < CUT.length ? '' : `${text}${CUT}`;
};

/**
 * A unified diff of the effect and the body of two requests; empty when they are equal. At most `max`
 * characters; a note marks what is cut.
 */
export const changesBetween = (before: Comparable, now: Comparable, max: number): string =>
  within(
    [
      ...patchOf('effect', effectLines(before.effect), effectLines(now.effect)),
      ...patchOf('body', before.body ?? '', now.body ?? ''),
    ].map(shortLine),
    max,
  );
