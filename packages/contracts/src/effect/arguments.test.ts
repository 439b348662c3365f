import { describe, expect, test } from 'vitest';
import { argumentProblems } from './arguments.ts';

describe('arguments that every executor refuses', () => {
  test.each<[uses: string, args: Parameters<typeof argumentProblems>[1], path: string, expected: string]>([
    ['cap.file.append', { file: '../../etc/passwd', line: 'x' }, 'file', 'HOLDPOINT_WORKSPACE'],
    ['cap.file.write', { file: 'a/../..', content: 'x' }, 'file', 'HOLDPOINT_WORKSPACE'],
    ['cap.file.write', { file: '.', content: 'x' }, 'file', 'HOLDPOINT_WORKSPACE'],
    ['cap.file.append', { file: '/etc/passwd', line: 'x' }, 'file', 'a relative path'],
    ['cap.file.append', { file: 'a.txt' }, 'line', 'a value'],
    ['cap.file.append', { file: 'a.txt', line: 7 }, 'line', 'string'],
    ['cap.file.append', { file: 'a.txt', line: 'a\nb' }, 'line', 'one line, without a line end'],
    ['cap.http.request', { url: 'ftp://example' }, 'url', 'an http or https URL'],
    ['cap.http.idempotent_request', { url: 'https://example/', method: 'POST' }, 'method', 'Invalid option'],
    ['cap.notify.slack', { webhook: 'https://hooks.example', text: 'x' }, 'webhook', 'a secret reference'],
    ['cap.env.shell.command.run.compensate', { args: { with: {} } }, 'args.with.compensate', 'a script'],
    ['cap.env.shell.cicd.run.compensate', {}, 'args.with.compensate', 'a script that undoes the effect'],
  ])('%s with %j', (uses, args, path, expected) => {
    const [problem] = argumentProblems(uses, args);
    expect(problem?.path.join('.')).toBe(path);
    expect(problem?.expected).toContain(expected);
  });

  test.each<[uses: string, args: Parameters<typeof argumentProblems>[1]]>([
    ['cap.file.append', { file: 'logs/a.txt', line: 'x' }],
    ['cap.file.append', { file: 'a/../b.txt', line: 'x' }],
    ['cap.file.write', { file: 'srv/a.txt', content: 'x', preview: { before: null } }],
    ['cap.http.request', { url: 'https://example/' }],
    ['cap.env.shell.command.run.compensate', { args: { with: { compensate: 'true' } } }],
    ['cap.custom.deploy', { file: '../../etc/passwd' }],
    ['cap.env.shell.command.run', {}],
    ['constructor', {}],
  ])('%s takes %j', (uses, args) => {
    expect(argumentProblems(uses, args)).toEqual([]);
  });
});
