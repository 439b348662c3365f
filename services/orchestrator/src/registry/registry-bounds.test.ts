import type { ArtifactState } from '@holdpoint/contracts/task/registry';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  artifact,
  BOARD,
  boardWith,
  informationOf,
  job,
  nodeId,
  NOW,
  report,
  require,
  taskId,
} from '../../testing/registry.ts';
import { registryDecider, type RegistryMessage } from './decide.ts';
import { LABELS_MAX, ARTIFACTS_MAX, PAYLOADS_MAX_BYTES, SERIALS_MAX, REPORTERS_MAX } from './reports.ts';
import { artifactStatuses } from './artifact-states.ts';
import { type Registry, emptyRegistry } from './state.ts';
import { NOTIFIED_MAX_BYTES, WATCHES_MAX } from './watch.ts';

const KIB = 1_024;
const textOf = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) });
const range = <Each>(length: number, each: (index: number) => Each): Each[] =>
  Array.from({ length }, (_, index) => each(index));

const decideOn = (board: Registry, message: RegistryMessage) =>
  registryDecider.decide(board, message, { now: NOW });
const after = (board: Registry, ...messages: readonly RegistryMessage[]): Registry =>
  messages.reduce((reached, message) => {
    const state = decideOn(reached, message).events.reduce<typeof registryDecider.initial>(
      (before, event) => registryDecider.evolve(before, event),
      reached,
    );
    return state.phase === 'absent' ? reached : state;
  }, board);
const standingOf = (board: Registry, label: string): ArtifactState | undefined =>
  artifactStatuses(board, [label]).get(label);

const silent = (task: string) => ({ task: taskId(task), serial: 1, coming: [], failed: [], made: [] });
const maker = (label: string) => ({ label, node: nodeId('n') });

describe('payload limits', () => {
  test('payloads up to 64 KiB of available artifacts are kept', () => {
    const board = after(
      emptyRegistry(BOARD),
      report(
        't1',
        1,
        artifact('available', 'fits', { payload: textOf(64 * KIB) }),
        artifact('available', 'too large', { payload: textOf(64 * KIB + 1) }),
        artifact('pending', 'not there', { payload: { text: 'x' } }),
      ),
    );
    expect(standingOf(board, 'fits')).toMatchObject({ payload: textOf(64 * KIB) });
    expect(standingOf(board, 'too large')).toEqual({ label: 'too large', state: 'available', by: 't1/n' });
    expect(standingOf(board, 'not there')).toEqual({ label: 'not there', state: 'pending', by: 't1/n' });
  });

  test('payload sizes count in bytes, not in characters', () => {
    const payload = { text: '€'.repeat(30 * KIB) };
    const board = after(emptyRegistry(BOARD), report('t1', 1, artifact('available', 'x', { payload })));
    expect(standingOf(board, 'x')).toEqual({ label: 'x', state: 'available', by: 't1/n' });
  });

  test('the oldest payloads give way to newer ones, and their artifacts stay', () => {
    const payload = textOf(64 * KIB);
    const count = PAYLOADS_MAX_BYTES / (64 * KIB) + 2;
    const board = after(
      emptyRegistry(BOARD),
      ...range(count, (index) =>
        report(`t${String(index)}`, 1, artifact('available', String(index), { payload })),
      ),
    );
    const kept = range(count, (index) => 'payload' in (standingOf(board, String(index)) ?? {}));
    expect(kept).toEqual(range(count, (index) => index > 1));
    expect(standingOf(board, '0')).toEqual({ label: '0', state: 'available', by: 't0/n' });
  });

  test('many artifacts are split into several notifications', () => {
    const labels = range(20, (index) => `x${String(index)}`);
    const artifacts = labels.map((label) => artifact('available', label, { payload: textOf(60 * KIB) }));
    const board = after(
      emptyRegistry(BOARD),
      report('t1', 1, ...artifacts.slice(0, 10)),
      report('t2', 1, ...artifacts.slice(10)),
    );
    const { send } = decideOn(board, require('t3/a', ...labels));
    for (const { data } of send) expect(JSON.stringify(data).length).toBeLessThan(300 * KIB);
    const told = informationOf({ send }).flatMap((each) =>
      each.kind === 'artifacts' ? each.artifactStates.map(({ label }) => label) : [],
    );
    expect(told).toEqual(labels);
    expect(new Set(send.map(({ id }) => id)).size).toBe(send.length);
  });
});

describe('artifact limits', () => {
  test('the newest available artifacts are kept up to the limit', () => {
    const made = range(ARTIFACTS_MAX, (index) => ({ ...maker(String(index)), task: taskId('t0'), bytes: 0 }));
    const board = after(boardWith({ made }), report('t1', 1, artifact('available', 'new')));
    expect(board.made).toHaveLength(ARTIFACTS_MAX);
    expect(standingOf(board, '0')?.state).toBe('missing');
    expect(standingOf(board, '1')?.state).toBe('available');
    expect(standingOf(board, 'new')?.state).toBe('available');
  });

  test('repeating a report does not make an artifact newer', () => {
    const made = range(ARTIFACTS_MAX, (index) => ({ ...maker(String(index)), task: taskId('t0'), bytes: 0 }));
    const said = range(ARTIFACTS_MAX, (index) => artifact('available', String(index))).toReversed();
    const again = after(
      boardWith({ made }),
      report('t0', 1, ...said),
      report('t1', 1, artifact('available', 'new')),
    );
    expect([standingOf(again, '0')?.state, standingOf(again, '1')?.state]).toEqual(['missing', 'available']);
    const anew = after(
      boardWith({ made }),
      report('t1', 1, artifact('available', '0'), artifact('available', 'new')),
    );
    expect([standingOf(anew, '0')?.state, standingOf(anew, '1')?.state]).toEqual(['available', 'missing']);
  });

  test('the artifacts of a limited number of tasks are known as theirs', () => {
    const messages = range(REPORTERS_MAX + 1, (index) =>
      report(`t${String(index)}`, 1, artifact('available', String(index))),
    );
    const { reporters } = after(emptyRegistry(BOARD), ...messages);
    expect(reporters.map(({ made }) => made)).toEqual([
      [],
      ...range(REPORTERS_MAX, (index) => [String(index + 1)]),
    ]);
  });

  test('failed artifacts of the latest tasks are kept beside the reports of other tasks', () => {
    const tasks = REPORTERS_MAX + 1;
    const messages = range(tasks, (index) => [
      report(`f${String(index)}`, 1, artifact('failed', `f${String(index)}`)),
      report(`m${String(index)}`, 1, artifact('available', `m${String(index)}`)),
    ]);
    const board = after(emptyRegistry(BOARD), report('c', 1, artifact('pending', 'c')), ...messages.flat());
    expect(standingOf(board, 'f0')?.state).toBe('missing');
    expect(standingOf(board, 'f1')?.state).toBe('failed');
    expect(standingOf(board, 'm0')?.state).toBe('available');
    expect(standingOf(board, 'c')?.state).toBe('pending');
  });

  test('a watcher hears of an artifact that a limit has dropped', () => {
    const failures = range(REPORTERS_MAX, (index) => ({
      ...silent(`t${String(index)}`),
      failed: [maker(String(index))],
    }));
    const board = after(boardWith({ reporters: failures }), require('w/a', '0'));
    const told = informationOf(decideOn(board, report('new', 1, artifact('failed', 'new'))));
    expect(told[0]).toMatchObject({ kind: 'artifacts', artifactStates: [{ label: '0', state: 'missing' }] });
  });

  test('pending artifacts are kept up to a number of labels', () => {
    const each = 2_000;
    const reporters = range(LABELS_MAX / each, (index) => ({
      ...silent(`t${String(index)}`),
      coming: range(each, (label) => maker(`${String(index)}.${String(label)}`)),
    }));
    const board = after(boardWith({ reporters }), report('new', 1, artifact('pending', 'new')));
    expect(standingOf(board, '0.0')?.state).toBe('missing');
    expect(standingOf(board, '1.0')?.state).toBe('pending');
    expect(standingOf(board, 'new')?.state).toBe('pending');
  });
});

describe('the report serial of a task', () => {
  test('the serial outlives the artifacts, so an old report does not restore them', () => {
    const settled = range(REPORTERS_MAX, (index) => report(`t${String(index)}`, 1, artifact('failed', 'x')));
    const board = after(emptyRegistry(BOARD), report('old', 2, artifact('failed', 'old')), ...settled);
    expect(standingOf(board, 'old')?.state).toBe('missing');
    specFor({ ...registryDecider, initial: board })()
      .when(report('old', 1, artifact('pending', 'old')), NOW)
      .thenEmits()
      .thenSends({ data: { notification: { kind: 'reported', serial: 2 } } });
  });

  test('only the latest tasks keep their serials', () => {
    const reporters = range(SERIALS_MAX, (index) => silent(`t${String(index)}`));
    const board = after(boardWith({ reporters }), report('new', 1));
    expect(board.reporters).toHaveLength(SERIALS_MAX);
    expect(board.reporters[0]).toEqual(silent('t1'));
    expect(board.reporters.at(-1)).toEqual(silent('new'));
  });
});

describe('watch limits', () => {
  const watch = (name: string) => ({ ...job(name), labels: ['x'], until: NOW + 1_000_000 });
  const watches = range(WATCHES_MAX, (index) => watch(`t${String(index)}/a`));
  const givenMany = specFor({ ...registryDecider, initial: boardWith({ watches }) })();

  test('the oldest watch gives way beyond the limit', () => {
    givenMany
      .when(require('new/a', 'x'), NOW)
      .thenEmitsLike(
        { type: 'artifact_watch_removed', task: 't0' },
        { type: 'artifact_watch_added', task: 'new' },
      );
    givenMany
      .when(require('t5/a', 'y'), NOW)
      .thenEmitsLike({ type: 'artifact_watch_added', task: 't5', labels: ['y'] });
  });

  test('one decision notifies up to a size, and the other watches stay', () => {
    const large = artifact('available', 'x', { payload: textOf(64 * KIB) });
    const board = boardWith({ watches: watches.slice(0, 300) });
    const made = decideOn(board, report('new', 1, large));
    const bytes = made.send.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
    expect(bytes).toBeGreaterThan(NOTIFIED_MAX_BYTES / 2);
    expect(bytes).toBeLessThan(NOTIFIED_MAX_BYTES * 1.1);
    const left = after(board, report('new', 1, large));
    expect(left.watches).toHaveLength(300 - (made.send.length - 1));
    const [unheard] = left.watches;
    specFor({ ...registryDecider, initial: left })()
      .when(require(`${unheard?.task ?? ''}/a`, 'x'), NOW)
      .thenEmitsLike({ type: 'artifact_watch_removed', task: unheard?.task });
  });
});
