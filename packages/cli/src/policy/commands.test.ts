import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

const DIGEST = 'c0ffee'.repeat(11).slice(0, 64);
const floor = { floor: [{ name: 'live', match: { kinds: ['deploy'] }, audience: ['sre'], quorum: 2 }] };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'policy-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
const fileWith = (text: string): string => {
  const file = join(folder, 'policy.json');
  writeFileSync(file, text);
  return file;
};

test('policy show prints each entry and the problem of the file', async () => {
  const view = { digest: DIGEST, source: 'file', floor, problem: 'HOLDPOINT_POLICY_FILE: floor[0]: wrong' };
  const { out } = await typeLine(['policy', 'show'], { 'approvals.policy_get': view });
  expect(out).toContain(`floor    ${DIGEST}`);
  expect(out).toContain('problem  HOLDPOINT_POLICY_FILE: floor[0]: wrong');
  expect(out).toMatch(/live +deploy +members of sre; 2 approvers/);
});

test('policy test shows what the floor would have changed', async () => {
  const item = {
    id: 'a-1',
    task: 't-1',
    title: 'deploy 7',
    kind: 'deploy',
    uses: 'cap.http.request',
    target: 'https://api.example',
    requestedBy: 'mallory',
    requestedAt: 1_764_000_000_000,
    status: 'approved',
    decidedBy: 'mallory',
    entries: ['live'],
    stricter: ['audience', 'quorum'],
    weaker: [],
    breaks: ['quorum', 'unreachable'],
  };
  const { out, calls } = await typeLine(['policy', 'test', fileWith(JSON.stringify(floor))], {
    'approvals.policy_test': { digest: DIGEST, examined: 12, items: [item] },
  });
  expect(calls).toEqual([['approvals.policy_test', { floor, days: 30 }]]);
  expect(out).toContain('would have changed 1 of 12 requests of 30 days');
  expect(out).toContain(
    'adds the audience, the quorum; approval would fail the quorum, the approvers it names',
  );
});

test.each([
  ['{\n  "floor": [\n    {]\n}', 'line 3'],
  ['{"floor":[{"name":"x"}]}', 'floor[0]: demands nothing'],
  ['{"floor":[{"name":"x","fourEyes":false}]}', 'floor[0].fourEyes'],
  ['{"floor":[{"name":"x","quorom":2}]}', 'quorom'],
])('an invalid policy file %j is refused with its place', async (text, place) => {
  const { err, calls, code } = await typeLine(['policy', 'test', fileWith(text)], {});
  expect(code).not.toBe(0);
  expect(calls).toEqual([]);
  expect(err).toContain(place);
});
