import type { ArtifactReport } from '@holdpoint/contracts/task/registry';
import { continued, historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import {
  acquire,
  artifact,
  BOARD,
  job,
  MINUTE_MS,
  NOW,
  reminder,
  report,
  require,
  taskId,
  notified,
} from '../../testing/registry.ts';
import { registryDecider, type RegistryMessage } from './decide.ts';

const given = specFor(registryDecider);
const acted = (...messages: readonly RegistryMessage[]) =>
  historyOf(registryDecider, ...messages.map((message) => [message, NOW] as const));

const X = 'custom:stage_token:approve:x';
const Y = 'plan_doc:y (draft/y)';
const coming = (label = X) => artifact('pending', label);
const made = (label = X, payload?: ArtifactReport['payload']) =>
  artifact('available', label, { ...(payload && { payload }) });
const failed = (label = X) => artifact('failed', label);

const recorded = (task: string, serial: number, ...artifacts: readonly ArtifactReport[]) => ({
  type: 'artifacts_reported' as const,
  id: BOARD,
  task: taskId(task),
  serial,
  artifacts: [...artifacts],
  at: NOW,
});
const watched = (name: string, labels: readonly string[], until = NOW + 15 * MINUTE_MS) => ({
  type: 'artifact_watch_added' as const,
  id: BOARD,
  ...job(name),
  labels: [...labels],
  until,
});
const unwatched = (name: string) => ({ type: 'artifact_watch_removed' as const, id: BOARD, ...job(name) });

const notifiedReported = (task: string, serial: number) => notified(task, { kind: 'reported', task, serial });
const notifiedArtifacts = (name: string, ...artifactStates: readonly object[]) =>
  notified(job(name).task, { kind: 'artifacts', ...job(name), artifactStates });

describe('artifact states (reference 67)', () => {
  const cases = [
    ['nobody has reported it', [], { state: 'missing' }],
    ['somebody is to make it', [report('t1', 1, coming())], { state: 'pending', by: 't1/n' }],
    [
      'somebody made it',
      [report('t1', 1, made(X, { text: 'hi' }))],
      { state: 'available', by: 't1/n', payload: { text: 'hi' } },
    ],
    ['somebody failed to make it', [report('t1', 1, failed())], { state: 'failed', by: 't1/n' }],
    [
      'one failed, another is to make it',
      [report('t1', 1, coming()), report('t2', 1, failed())],
      { state: 'pending', by: 't1/n' },
    ],
    [
      'one made it, another is to make it anew, and a third failed',
      [report('t1', 1, made()), report('t2', 1, coming()), report('t3', 1, failed())],
      { state: 'available', by: 't1/n' },
    ],
    [
      'two made it, and the later one has failed since: what the first made is there',
      [report('t1', 1, made()), report('t2', 1, made()), report('t2', 2, failed())],
      { state: 'available', by: 't1/n' },
    ],
    [
      'two are to make it: the first by name, whoever reported last',
      [report('t1', 1, coming()), report('t2', 1, coming())],
      { state: 'pending', by: 't1/n' },
    ],
    [
      'two are to make it, and the first by name reported last',
      [report('t2', 1, coming()), report('t1', 1, coming())],
      { state: 'pending', by: 't1/n' },
    ],
    [
      'two failed: the last',
      [report('t2', 1, failed()), report('t1', 1, failed())],
      { state: 'failed', by: 't1/n' },
    ],
    [
      'two made it: the last',
      [report('t1', 1, made(X, { text: 'old' })), report('t2', 1, made(X, { text: 'new' }))],
      { state: 'available', by: 't2/n', payload: { text: 'new' } },
    ],
    [
      'its maker was the one, made something else since, and is not the last to have made it for that',
      [report('t1', 1, made()), report('t2', 1, made()), report('t1', 2, made(), made(Y))],
      { state: 'available', by: 't2/n' },
    ],
    [
      'its maker makes it anew',
      [report('t1', 1, made()), report('t1', 2, coming())],
      { state: 'pending', by: 't1/n' },
    ],
    [
      'its maker made it anew',
      [report('t1', 1, made()), report('t2', 1, made()), report('t1', 2, coming()), report('t1', 3, made())],
      { state: 'available', by: 't1/n' },
    ],
    ['its maker takes it back', [report('t1', 1, made()), report('t1', 2)], { state: 'missing' }],
    [
      'whoever was to make it left it out',
      [report('t1', 1, coming()), report('t1', 2)],
      { state: 'missing' },
    ],
  ] as const;

  test.each(cases)('%s', (_, messages, standing) => {
    given(...acted(...messages))
      .when(require('t9/a', X), NOW)
      .thenSends(notifiedArtifacts('t9/a', { label: X, ...standing }));
  });

  test('a task that needs its own artifact is notified like any other', () => {
    given(...acted(report('t1', 1, coming())))
      .when(require('t1/a', X), NOW)
      .thenSends(notifiedArtifacts('t1/a', { label: X, state: 'pending', by: 't1/n' }));
  });
});

describe('artifacts without a producer (reference 68)', () => {
  test('an artifact without a producer is reported as unknown', () => {
    given()
      .when(require('t1/a', X), NOW)
      .thenEmits(watched('t1/a', [X]))
      .thenSends(notifiedArtifacts('t1/a', { label: X, state: 'missing' }))
      .thenTimes();
  });

  test('a waiting task hears when a producer appears and when the artifact is available', () => {
    const waiting = acted(require('t1/a', X));
    given(...waiting)
      .when(report('t2', 1, coming()), NOW)
      .thenEmits(recorded('t2', 1, coming()))
      .thenSends(
        notifiedArtifacts('t1/a', { label: X, state: 'pending', by: 't2/n' }),
        notifiedReported('t2', 1),
      );
    given(...continued(registryDecider, waiting, [report('t2', 1, coming()), NOW]))
      .when(report('t2', 2, made()), NOW)
      .thenEmits(recorded('t2', 2, made()), unwatched('t1/a'))
      .thenSends(
        notifiedArtifacts('t1/a', { label: X, state: 'available', by: 't2/n' }),
        notifiedReported('t2', 2),
      );
  });
});

describe('an artifact report', () => {
  test('a report is recorded and answered with its serial', () => {
    given()
      .when(report('t1', 3, coming(), made(Y, { text: 'hi' })), NOW)
      .thenEmits(recorded('t1', 3, coming(), made(Y, { text: 'hi' })))
      .thenSends(notifiedReported('t1', 3))
      .thenTimes();
  });

  test('an older report is answered with the latest serial and not recorded', () => {
    for (const serial of [1, 2, 3]) {
      given(...acted(report('t1', 3, coming())))
        .when(report('t1', serial), NOW)
        .thenEmits()
        .thenSends(notifiedReported('t1', 3));
    }
  });

  test('a report without a change for a watcher does not notify it', () => {
    given(...acted(require('t1/a', X), report('t2', 1, coming())))
      .when(report('t2', 2, coming(), coming(Y)), NOW)
      .thenSends(notifiedReported('t2', 2));
  });

  test('a change of one watched label notifies about all of them', () => {
    given(...acted(require('t1/a', X, Y), report('t2', 1, made(Y))))
      .when(report('t3', 1, failed()), NOW)
      .thenEmits(recorded('t3', 1, failed()))
      .thenSends(
        notifiedArtifacts(
          't1/a',
          { label: X, state: 'failed', by: 't3/n' },
          { label: Y, state: 'available', by: 't2/n' },
        ),
        notifiedReported('t3', 1),
      );
  });

  test('another payload or producer of an artifact is a change', () => {
    const history = acted(require('t1/a', X, Y), report('t2', 1, made(X, { text: 'old' })));
    const none = { label: Y, state: 'missing' };
    const anew = { label: X, state: 'available', payload: { text: 'new' } };
    given(...history)
      .when(report('t2', 2, made(X, { text: 'new' })), NOW)
      .thenSends(notifiedArtifacts('t1/a', { ...anew, by: 't2/n' }, none), notifiedReported('t2', 2));
    given(...history)
      .when(report('t3', 1, made(X, { text: 'old' })), NOW)
      .thenSends(
        notifiedArtifacts('t1/a', { ...anew, payload: { text: 'old' }, by: 't3/n' }, none),
        notifiedReported('t3', 1),
      );
    given(...history)
      .when(report('t2', 2, made(X, { text: 'old' })), NOW)
      .thenSends(notifiedReported('t2', 2));
  });

  test('a report is recorded without the payloads of unavailable artifacts', () => {
    const early = artifact('pending', X, { payload: { text: 'not yet' } });
    given()
      .when(report('t1', 1, early), NOW)
      .thenEmits(recorded('t1', 1, coming()));
  });

  test('a report notifies every watcher', () => {
    const standing = { label: X, state: 'pending', by: 't3/n' };
    given(...acted(require('t1/a', X), require('t1/b', X), require('t2/a', Y, X), require('t2/b', Y)))
      .when(report('t3', 1, coming()), NOW)
      .thenSends(
        notifiedArtifacts('t1/a', standing),
        notifiedArtifacts('t1/b', standing),
        notifiedArtifacts('t2/a', { label: Y, state: 'missing' }, standing),
        notifiedReported('t3', 1),
      );
  });

  test('a report drops expired watches without notifying them', () => {
    given(...acted(require('t1/a', X)))
      .when(report('t2', 1, coming()), NOW + 15 * MINUTE_MS)
      .thenEmitsLike(unwatched('t1/a'), { type: 'artifacts_reported' })
      .thenSends(notifiedReported('t2', 1));
  });
});

describe('an artifact query', () => {
  test('a query for available artifacts leaves no watch', () => {
    given(...acted(report('t1', 1, made(), made(Y))))
      .when(require('t2/a', X, Y), NOW)
      .thenEmits()
      .thenSends(
        notifiedArtifacts(
          't2/a',
          { label: X, state: 'available', by: 't1/n' },
          { label: Y, state: 'available', by: 't1/n' },
        ),
      );
  });

  test('an early repeat is answered and does not renew the watch', () => {
    given(...acted(require('t1/a', X, Y)))
      .when(require('t1/a', Y, X, X), NOW + 7 * MINUTE_MS)
      .thenEmits()
      .thenSends(notifiedArtifacts('t1/a', { label: Y, state: 'missing' }, { label: X, state: 'missing' }));
  });

  test('a repeat after half of the time renews the watch', () => {
    const later = NOW + 8 * MINUTE_MS;
    given(...acted(require('t1/a', X)))
      .when(require('t1/a', X), later)
      .thenEmits(watched('t1/a', [X], later + 15 * MINUTE_MS));
  });

  test('a query of a later attempt or for other labels replaces the watch', () => {
    const history = acted(require('t1/a', X));
    given(...history)
      .when(require('t1/a', Y), NOW)
      .thenEmits(watched('t1/a', [Y]));
    given(...acted(require('t1/a', X, Y)))
      .when(require('t1/a', X), NOW)
      .thenEmits(watched('t1/a', [X]));
    given(...history)
      .when(require('t1/a/2', X), NOW)
      .thenEmits(watched('t1/a/2', [X]));
    given(...continued(registryDecider, history, [require('t1/a/2', Y), NOW]))
      .when(report('t2', 1, coming()), NOW)
      .thenSends(notifiedReported('t2', 1));
  });

  test('a late query of an earlier attempt is only answered', () => {
    given(...acted(require('t1/a/2', X)))
      .when(require('t1/a/1', Y), NOW)
      .thenEmits()
      .thenSends(notifiedArtifacts('t1/a/1', { label: Y, state: 'missing' }));
  });

  test('a repeat after everything is available ends the watch', () => {
    given(...acted(report('t1', 1, made()), require('t2/a', X, Y)))
      .when(require('t2/a', X), NOW)
      .thenEmits(unwatched('t2/a'));
  });

  test('any query drops expired watches, as the reminder does', () => {
    const history = acted(acquire('t1/a', 1, 'k'), require('t1/b', X));
    const later = NOW + 15 * MINUTE_MS;
    given(...history)
      .when(require('t2/a', Y), later)
      .thenEmits(unwatched('t1/b'), watched('t2/a', [Y], later + 15 * MINUTE_MS));
    given(...history)
      .when(reminder, later)
      .thenEmits(unwatched('t1/b'));
    given(...history)
      .when(reminder, later - 1)
      .thenEmits();
  });
});
