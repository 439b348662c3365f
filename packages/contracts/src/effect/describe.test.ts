import { describe, expect, test } from 'vitest';
import { CAPABILITIES, effectClassOf } from './capabilities.ts';
import { type DescribedEffect, describeEffect, misstated } from './describe.ts';
import { SideEffectKind } from '../workflow/side-effect.ts';

const effect = (change: Partial<DescribedEffect> = {}): DescribedEffect => ({
  uses: 'cap.file.append',
  args: { file: 'notes.txt', line: 'x' },
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'file:notes.txt',
  ...change,
});
const URL = 'https://api.example:8443/production/deploy?by=hand';
const WEBHOOK = '${secret:TEAM_CHAT}';

describe('the arguments name the target', () => {
  test.each<[string, DescribedEffect['args'], string]>([
    ['cap.file.append', { file: 'a/./b/../notes.txt' }, 'file:a/notes.txt'],
    ['cap.file.write', { file: 'notes.txt' }, 'file:notes.txt'],
    ['cap.file.write', { file: '../x' }, 'file:../x'],
    ['cap.http.request', { url: URL }, 'https://api.example:8443'],
    ['cap.http.keyed_request', { url: URL }, 'https://api.example:8443'],
    ['cap.http.idempotent_request', { url: URL }, 'https://api.example:8443'],
    ['cap.notify.webhook', { url: URL }, 'notify:https://api.example:8443'],
    ['cap.notify.slack', { webhook: WEBHOOK }, 'notify:TEAM_CHAT'],
    ['cap.notify.discord', { webhook: WEBHOOK }, 'notify:TEAM_CHAT'],
    ['cap.env.builtin.git.integrate_plan_branch', { with: { target: 'main' } }, 'branch:main'],
    ['cap.env.builtin.git.integrate_plan_branch', { with: {}, preview: { target: 'live' } }, 'branch:live'],
    ['cap.env.builtin.git.integrate_plan_branch.compensate', { outputs: { target: 'main' } }, 'branch:main'],
    ['cap.file.write.compensate', { args: { file: 'notes.txt' } }, 'file:notes.txt'],
    [
      'cap.env.builtin.git.rollback',
      { with: { isolated: true, worktree: '.holdpoint/worktrees/../../x' } },
      'worktree:x',
    ],
    ['cap.env.builtin.git.rollback', { with: { isolated: false, worktree: 'w' } }, 'checkout:w'],
    [
      'cap.env.builtin.git.rollback',
      { with: { isolated: false }, repository: '/code/r' },
      'checkout:/code/r',
    ],
  ])('%s with %j acts on %s', (uses, args, target) => {
    expect(describeEffect(effect({ uses, args, target: 'notify:team' }))).toMatchObject({
      target,
      isTargetClaimed: false,
    });
  });

  test.each([
    ['cap.env.shell.command.run', { script: 'true' }],
    ['cap.custom.deploy', { version: 1 }],
    ['cap.file.append', {}],
    ['cap.http.request', { url: 'nonsense' }],
    ['cap.notify.slack', { webhook: 'https://hooks.example' }],
  ])('the target of %s with %j is only claimed', (uses, args) => {
    expect(describeEffect(effect({ uses, args, target: 'live' }))).toMatchObject({
      target: 'live',
      isTargetClaimed: true,
    });
  });
});

describe('a requester can raise the kind of an effect and never lower it', () => {
  test.each(['notify', 'other'] as const)('%s is below a file', (kind) => {
    expect(describeEffect(effect({ kind })).kind).toBe('write_external');
    expect(misstated(effect({ kind }))).toContain('kind is write_external');
  });

  test.each(['write_external', 'deploy', 'merge', 'destructive_edit'] as const)('%s is not', (kind) => {
    expect(describeEffect(effect({ kind })).kind).toBe(kind);
    expect(misstated(effect({ kind }))).toBeUndefined();
  });

  test('a capability with one kind keeps it', () => {
    const merge = effect({
      uses: 'cap.env.builtin.git.integrate_plan_branch',
      args: {},
      effectClass: 'fenced',
    });
    for (const kind of SideEffectKind.options) expect(describeEffect({ ...merge, kind }).kind).toBe('merge');
  });

  test('no kind and no class that is stated lowers the risk', () => {
    const ranks = ['low', 'medium', 'high'];
    for (const uses of Object.keys(CAPABILITIES))
      for (const kind of SideEffectKind.options) {
        const told = describeEffect(effect({ uses, kind, effectClass: 'opaque' }));
        const lied = describeEffect(effect({ uses, kind, effectClass: 'keyed' }));
        expect(ranks.indexOf(lied.risk)).toBeGreaterThanOrEqual(
          effectClassOf(uses, told.kind) === undefined ? 0 : ranks.indexOf(told.risk),
        );
      }
  });
});

test('the start of work on demand keeps its kind, because nothing runs under its grant', () => {
  const start = effect({
    uses: 'cap.env.shell.command.run',
    kind: 'other',
    effectClass: 'idempotent',
    target: 'job:t-1/check',
  });
  expect(misstated(start)).toBeUndefined();
  expect(misstated({ ...start, effectClass: 'opaque' })).toContain('kind is write_external');
  expect(misstated({ ...start, uses: 'cap.http.request' })).toContain('kind is write_external');
});
