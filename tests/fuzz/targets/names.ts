import assert from 'node:assert/strict';
import { cloudEventHeaders, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import {
  ApprovalId,
  approvalIdOf,
  EffectId,
  effectIdOf,
  NodeId,
  TaskId,
  taskIdFrom,
} from '@holdpoint/contracts/values/ids';
import { filters, subjects, TOKEN } from '@holdpoint/contracts/bus/subjects';
import { wireHeaders } from '@holdpoint/runtime/bus/headers';
import { MsgHdrsImpl } from '@nats-io/nats-core/internal';
import fc from 'fast-check';
import { nastyText } from '../hostile/strings.ts';
import { target } from '../target.ts';
import { type Text, textOf } from '../text.ts';

type Input = { readonly of: string; readonly texts: readonly Text[] };

/** A subject builder makes exactly one token of any text, or throws. */
const built = (build: () => string, tokens: number): string => {
  let subject: string;
  try {
    subject = build();
  } catch (error) {
    assert.ok(error instanceof TypeError);
    return 'refused';
  }
  const parts = subject.split('.');
  assert.equal(parts.length, tokens);
  assert.ok(parts.every((part) => TOKEN.test(part) || part === '*'));
  return 'accepted';
};

const checks: Readonly<Record<string, (one: string, other: string) => string>> = {
  subjects: (one, other) => {
    const outcomes = [
      built(() => subjects.event('task', 'completed', one), 5),
      built(() => subjects.log(one, 't'), 4),
      built(() => subjects.effectCommand('run', one), 5),
      built(() => subjects.taskCommand(one), 4),
      built(() => filters.eventsAbout('task', one), 5),
    ];
    assert.equal(new Set(outcomes).size, 1);
    built(() => subjects.log(one, other), 4);
    return outcomes[0] ?? '';
  },
  ids: (one, other) => {
    const made = [
      taskIdFrom(one),
      approvalIdOf(one as TaskId, other as NodeId, 1),
      effectIdOf(one as TaskId, other as NodeId, one),
    ];
    for (const id of made) assert.match(id, TOKEN);
    const taken = [TaskId, NodeId, ApprovalId, EffectId].map((id) => id.safeParse(one).success);
    assert.equal(new Set(taken).size, 1);
    assert.equal(taken[0], built(() => subjects.taskCommand(one), 4) === 'accepted');
    return taken[0] ? 'accepted' : 'refused';
  },
  headers: (one, other) => {
    const pairs = cloudEventHeaders({
      id: one,
      source: 'client',
      type: 'x',
      subject: 's',
      time: 0,
      trace: other,
    });
    assert.equal(
      traceOf(other) === undefined,
      pairs.every(([name]) => name !== 'traceparent'),
    );
    let bytes: Uint8Array;
    try {
      bytes = (wireHeaders(pairs) as MsgHdrsImpl).encode();
    } catch (error) {
      assert.ok(error instanceof TypeError);
      return 'refused';
    }
    // The reader finds exactly the written headers.
    assert.equal(
      MsgHdrsImpl.decode(bytes).keys().length,
      new Set(pairs.map(([name]) => name.toLowerCase())).size,
    );
    return 'accepted';
  },
};

/** Untrusted names never reach another subject, header or id. */
export const names = target<Input>({
  name: 'names',
  runs: 150,
  reaches: ['accepted', 'refused'],
  cases: Object.fromEntries(
    Object.keys(checks).map((of) => [
      of,
      fc.record({
        of: fc.constant(of),
        texts: fc.tuple(
          fc.oneof(nastyText, fc.stringMatching(TOKEN)),
          fc.oneof(nastyText, fc.stringMatching(TOKEN)),
        ),
      }),
    ]),
  ),
  check: ({ of, texts }) => {
    const [one = '', other = ''] = texts.map(textOf);
    return checks[of]?.(one, other) ?? 'no such check';
  },
});
