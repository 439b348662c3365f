import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '@holdpoint/contracts/values/version';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { commandLine } from '../../kit/command-line.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { environment, findOldestPython, findPython } from '../../kit/python.ts';
import { buildPage, startChromium, visit } from '../../kit/console/browser.ts';
import { chromium } from '../../kit/console/console.ts';
import { programsIn } from '../../repo/docs-code.ts';
import { Hopeless, until } from '../../kit/until.ts';
import { type Installed, installBuilt } from './python.ts';

const run = promisify(execFile);

const found = await findPython();
if (found.python === undefined) console.warn(`the Python package is not tested: ${found.reason}`);

const text = readFileSync(join(root, 'docs', 'python.md'), 'utf8');
const guide = programsIn(text);
const program = (name: string): string => {
  const code = guide.get(name);
  if (code === undefined) throw new Error(`docs/python.md has no program ${name}`);
  return code;
};

const AGENT = join(root, 'examples', 'python-agent');

const ownProgram = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'programs', name), 'utf8');

describe.skipIf(found.python === undefined)('the Python package', () => {
  let home: string;
  let installed: Installed;
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'holdpoint-python-'));
    installed = await installBuilt(found.python ?? '', home);
    // Tests find the installed package alone.
    mkdirSync(join(home, 'elsewhere'));
    renameSync(join(installed.copy, 'src'), join(home, 'elsewhere', 'src'));
  }, 240_000);
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  const python = (...args: readonly string[]) =>
    run(installed.python, ['-m', ...args], {
      cwd: installed.copy,
      env: { PATH: process.env['PATH'], HOLDPOINT_VECTORS: join(home, 'vectors', 'remote-effects.json') },
    });

  test('wheel and sdist of this version are built', () => {
    expect(installed.files).toEqual([`holdpoint-${VERSION}-py3-none-any.whl`, `holdpoint-${VERSION}.tar.gz`]);
  });

  test('the sdist without extras works with the oldest Python, and names the extra that claims over NATS need', async () => {
    const { python: oldest = '' } = await findOldestPython();
    const sdist = join(home, 'dist', `holdpoint-${VERSION}.tar.gz`);
    const plain = await environment(oldest, join(home, 'plain'), [sdist]);
    const inside = (code: string) =>
      run(plain, ['-c', code], { cwd: home, env: { PATH: process.env['PATH'] } });
    expect((await inside('import holdpoint; print(holdpoint.Client.__name__)')).stdout).toBe('Client\n');
    const refused = inside('import holdpoint.nats');
    const line = 'ModuleNotFoundError: claims over NATS need an extra: pip install "holdpoint[nats]"\n';
    await expect(refused).rejects.toHaveProperty('stderr', expect.stringContaining(`\n${line}`));
    await expect(refused).rejects.toHaveProperty('stderr', expect.not.stringContaining('During handling'));
  });

  test('both clients have the methods that the guide lists', async () => {
    const listed = /^`holdpoint\.Client`.*$/mu.exec(text)?.[0] ?? '';
    const names = [...listed.matchAll(/`(\w+)`/gu)].map(([, name = '']) => name);
    expect(names).toContain('answer_task');
    const missing =
      'print([(c.__name__, n) for c in (holdpoint.Client, holdpoint.AsyncClient) for n in sys.argv[1:] if not hasattr(c, n)])';
    const { stdout } = await run(installed.python, ['-c', `import holdpoint, sys; ${missing}`, ...names]);
    expect(stdout).toBe('[]\n');
  });

  test('its tests pass with the built wheel', async () => {
    const { stdout } = await python('pytest', '-p', 'no:cacheprovider');
    expect(stdout).toMatch(/\d+ passed/);
    expect(stdout).not.toMatch(/failed|skipped|error/);
  });

  test('the test of the guide passes', async () => {
    writeFileSync(join(home, 'test_refund.py'), program('test_refund.py'));
    const { stdout } = await python('pytest', '-p', 'no:cacheprovider', join(home, 'test_refund.py'));
    expect(stdout).toMatch(/2 passed/);
  });

  test('the tests of the agent of the examples pass', async () => {
    const folder = join(home, 'agent');
    cpSync(AGENT, folder, { recursive: true });
    const { stdout } = await python('pytest', '-p', 'no:cacheprovider', '--rootdir', folder, folder);
    expect(stdout).toMatch(/3 passed/);
  });

  test('its types and its style are checked', async () => {
    renameSync(join(home, 'elsewhere', 'src'), join(installed.copy, 'src'));
    try {
      expect((await python('mypy')).stdout).toMatch(/^Success/);
      await python('ruff', 'check', '.');
      await python('ruff', 'format', '--check', '.');
    } finally {
      renameSync(join(installed.copy, 'src'), join(home, 'elsewhere', 'src'));
    }
  });

  describe('against services', () => {
    let system: System;
    let url: string;
    beforeAll(async () => {
      system = await createSystem();
      const { approvals } = await system.startAll();
      url = `http://127.0.0.1:${String(approvals.httpPort)}`;
    });
    afterAll(() => system.stop());

    const start = (
      name: string,
      code = ownProgram(name),
      more: NodeJS.ProcessEnv = {},
      args: readonly string[] = [],
    ) => {
      writeFileSync(join(home, name), code);
      const child = spawn(installed.python, [name, ...args], {
        cwd: home,
        env: {
          PATH: process.env['PATH'],
          PYTHONUNBUFFERED: '1',
          HOLDPOINT_URL: url,
          HOLDPOINT_TOKEN_FILE: layout(system.run.credentialsDir).operatorToken,
          ...more,
        },
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      let out = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text: Buffer) => (out += String(text)));
      const ended = once(child, 'close');
      const printed = (text: string): Promise<string> =>
        until(`${name} prints ${text}`, () => {
          if (out.includes(text)) return out;
          if (child.exitCode !== null) throw new Hopeless(out);
          return undefined;
        });
      return { child, ended, printed, out: () => out };
    };

    const cli = (...words: readonly string[]) =>
      commandLine(system, undefined, {
        HOLDPOINT_TOKEN_FILE: layout(system.run.credentialsDir).approverToken,
      })(...words);
    const pending = (title: string): Promise<string> =>
      until(`a request ${title}`, async () => {
        const { out } = await cli('approval', 'list', '--json');
        const { items } = JSON.parse(out) as { items: readonly { id: string; title: string }[] };
        return items.find((each) => each.title.includes(title))?.id;
      });
    const refunds = (): string => readFileSync(join(home, 'refunds.txt'), 'utf8');

    test('the first program waits for its approval, runs once, and finds its result again', async () => {
      const first = start('refund.py', program('refund.py'));
      await first.printed('held: ');
      const approval = await pending('Refund 500 cents of charge ch_1');
      expect(await cli('approval', 'approve', approval)).toMatchObject({ code: 0 });
      await first.ended;
      expect(first.out()).toContain('refunded: re_ch_1');
      const second = start('refund.py', program('refund.py'));
      await second.ended;
      expect(second.out()).toContain('refunded: re_ch_1');
      expect(refunds()).toBe('ch_1 500\n');
    });

    test('the agent of the examples refunds and writes, each after its own approval', async () => {
      cpSync(AGENT, home, { recursive: true });
      const agent = start('agent.py', readFileSync(join(AGENT, 'agent.py'), 'utf8'), {}, ['o_1']);
      for (const title of ['Refund 500 cents of ch_1', 'Mail to ada@example.com'])
        expect(await cli('approval', 'approve', await pending(title))).toMatchObject({ code: 0 });
      expect(await agent.printed('answer: ')).toContain('answer: refund: re_ch_1; mail: sent');
      await agent.ended;
      expect(readFileSync(join(home, 'mails.txt'), 'utf8')).toContain('it is on its way');
    });

    test('over NATS, a worker claims an approved effect, beats longer than its lease, and ends it', async () => {
      const program = start('over_nats.py', undefined, {
        HOLDPOINT_NATS_URL: system.nats.url,
        HOLDPOINT_NATS_SEED_FILE: layout(system.run.credentialsDir).natsSeed('worker'),
      });
      await program.printed('held: ');
      expect(await cli('approval', 'approve', await pending('refund_over_nats'))).toMatchObject({ code: 0 });
      expect(await program.printed('refunded: ')).toContain('refunded: re_ch_1');
      await program.ended;
      expect(readFileSync(join(home, 'refunds-over-nats.txt'), 'utf8')).toBe('ch_1 1\n');
    });

    test('people approve the preview, a probe finds the release whose answer was lost, and an undo reverts it', async () => {
      const program = start('release.py');
      await program.printed('held: ');
      const approval = await pending('release');
      expect((await cli('approval', 'show', approval)).out).toContain('nothing -> v2');
      expect(await cli('approval', 'approve', approval)).toMatchObject({ code: 0 });
      const out = await program.printed('effect: ');
      expect(out).toContain('approved: nothing -> v2');
      expect(out).toContain('released: v2');
      const id = /^effect: (\S+)$/m.exec(out)?.[1] ?? '';
      const undone = await commandLine(system)('effect', 'undo', id);
      expect(undone, undone.err).toMatchObject({ code: 0 });
      expect(await cli('approval', 'approve', await pending('Undo'))).toMatchObject({ code: 0 });
      await until('the release is reverted', () => existsSync(join(home, 'undone.txt')) || undefined);
      program.child.stdin.end('\n');
      await program.ended;
      expect(readFileSync(join(home, 'undone.txt'), 'utf8')).toBe('v2 v2');
      expect(existsSync(join(home, 'running.txt'))).toBe(false);
    });

    /** The program stops between the change and its result. */
    const KILLED = program('refund.py')
      .replaceAll('ch_1', 'ch_2')
      .replace(/^( +)return f"re_.*$/m, '$1print("refunding")\n$1__import__("time").sleep(600)');

    const tokenIn = (file: string): string => readFileSync(file, 'utf8').trim();

    /** A person finds out on the page of the task what became of the effect, and answers. */
    const answerInConsole = async (executable: string, task: string, question: string): Promise<void> => {
      await buildPage();
      const browser = await startChromium(executable);
      onTestFinished(() => browser.close());
      const { operatorToken, approverToken } = layout(system.run.credentialsDir);
      const operator = await visit(browser, `${url}/#/tasks/${task}`, tokenIn(operatorToken));
      const effect = operator.page.locator('[data-effect]');
      await effect.getByText('Unknown outcome').waitFor();
      expect(await effect.textContent()).toMatch(
        /Last held by.*killed\.py on .*, process \d+, with a token of operator.*sent no beat for 30 s.*A person says whether it happened/s,
      );
      const decide = operator.page.getByRole('link', { name: 'Decide' });
      expect(await decide.getAttribute('href')).toContain(question);
      const approver = await visit(browser, `${url}/#/inbox/${question}`, tokenIn(approverToken));
      await approver.page.getByText('Did this happen?').waitFor();
      await approver.page.getByRole('button', { name: 'It happened' }).click();
      await approver.page.getByRole('button', { name: 'Confirm: It happened' }).click();
      await effect.getByText('Applied', { exact: true }).waitFor();
      expect([...operator.complaints, ...approver.complaints]).toEqual([]);
    };

    test('a process that is killed after the change leaves a question, and the answer is its result', async () => {
      const killed = start('killed.py', KILLED);
      const task = /held: (\S+)/.exec(await killed.printed('held: '))?.[1] ?? '';
      const approval = await pending('Refund 500 cents of charge ch_2');
      expect(await cli('approval', 'approve', approval)).toMatchObject({ code: 0 });
      await killed.printed('refunding');
      killed.child.kill('SIGKILL');
      await killed.ended;
      const again = start('refund-again.py', program('refund.py').replaceAll('ch_1', 'ch_2'));
      expect(await again.printed('in_doubt: ')).toContain('unknown');
      await again.ended;
      const question = await pending('ch_2');
      const shown = await cli('approval', 'show', question);
      expect(shown.out).toContain('refund:ch_2');
      const answered =
        chromium === undefined
          ? cli('approval', 'answer', question, 'applied').then(({ code, err }) => (code === 0 ? '' : err))
          : answerInConsole(chromium, task, question).then(() => '');
      expect(await answered).toBe('');
      await until('the effect is applied', async () => {
        const last = start('refund-last.py', program('refund.py').replaceAll('ch_1', 'ch_2'));
        await last.ended;
        return last.out().includes('applied: refund refund:ch_2 happened') || undefined;
      });
      expect(refunds()).toBe('ch_1 500\nch_2 500\n');
    });
  });
});
