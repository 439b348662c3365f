import { digestOf } from '@holdpoint/contracts/values/json';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import { nodeView, runView } from '../../testing/runs.ts';
import { type Answers, NOW } from '../../testing/terminal.ts';
import type { Client } from '../bus/client.ts';
import { createSession } from '../kit/session.ts';
import { createPendingNotices } from './waiting.ts';

const effect = {
  uses: 'cap.env.shell.command.run',
  kind: 'deploy',
  target: 'staging',
  args: { command: './deploy.sh' },
  effectClass: 'opaque',
  idempotencyKey: 'k',
};
const approval = {
  id: 'a-1',
  task: 't-1',
  node: 'deploy',
  revision: 1,
  digest: digestOf(effect),
  title: 'deploy',
  requestedBy: 'orchestrator',
  audience: ['operators'],
  status: 'pending',
  expiresAt: NOW + 1_000,
  effect,
};
const ADA = { name: 'ada', groups: ['operators'], roles: [] };
const waiting = runView(
  't-1',
  [nodeView('deploy', 'waiting_on_approval', { approval: 'a-1', gated: true })],
  {
    phase: 'awaiting_approval',
  },
);

const follow = async (
  { canDecide, json = false, answer }: { canDecide: boolean; json?: boolean; answer?: string | undefined },
  looks = [waiting, waiting],
  answers: Answers = {
    'approvals.get': approval,
    'approvals.decide': { id: 'a-1', status: 'approved', by: 'ada' },
  },
) => {
  const calls: (readonly [string, unknown])[] = [];
  let [out, err, asked] = ['', '', 0];
  const client = {
    canDecide,
    call: async (service: string, endpoint: string, payload: unknown) => {
      calls.push([`${service}.${endpoint}`, payload]);
      const known: Answers = { 'approvals.whoami': ADA, ...answers };
      const answer = known[`${service}.${endpoint}`];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as Client;
  const terminal = {
    columns: 80,
    ansi: true,
    colour: false,
    ask: async () => {
      asked += 1;
      return answer;
    },
  };
  const { session } = createSession(
    {
      connect: () => Promise.resolve(client),
      out: (text) => (out += text),
      err: (text) => (err += text),
      now: () => NOW,
      terminal,
    },
    [],
    () => false,
  );
  const look = createPendingNotices(client, session, json);
  const left: boolean[] = [];
  for (const run of looks) left.push(await look(run));
  return {
    left,
    out,
    err,
    asked,
    decided: calls.filter(([name]) => name === 'approvals.decide').map(([, payload]) => payload),
  };
};

describe('a run that waits for a decision', () => {
  test('a pending request prints once how to approve it', async () => {
    const { out, asked } = await follow({ canDecide: false });
    expect(out).toBe('t-1/deploy waits for a decision: holdpoint approval approve a-1\n');
    expect(asked).toBe(0);
  });

  test('a user with a token sees the whole effect, and approves exactly that', async () => {
    const { out, asked, decided } = await follow({ canDecide: true, answer: 'y' });
    expect(asked).toBe(1);
    expect(out).toContain('"command": "./deploy.sh"');
    expect(decided).toEqual([{ id: 'a-1', decision: 'approve', digest: approval.digest }]);
    expect(out).toContain('a-1 is approved by ada');
  });

  test("the terminal asks a workflow's question and sends the answer", async () => {
    const phase = { question: 'a-1', gated: true };
    const program = runView('t-1', [nodeView('deploy', 'waiting_on_approval', phase)]);
    const wanted = { ...approval, title: 'Ship it?', input: { kind: 'approval' } };
    const { out, decided } = await follow({ canDecide: true, answer: 'n' }, [program], {
      'approvals.get': wanted,
      'approvals.decide': { id: 'a-1', status: 'answered', by: 'ada' },
    });
    expect(out).toContain('t-1/deploy waits for a decision: holdpoint approval answer a-1\n');
    expect(decided).toEqual([{ id: 'a-1', decision: 'respond', digest: approval.digest, response: false }]);
    expect(out).toContain('a-1 is answered with no by ada');
  });

  test("a workflow's question about its failure is not reported as stuck", async () => {
    const failed = runView('t-1', [nodeView('review', 'escalated', { question: 'a-1' })]);
    const options = [{ value: 'retry', label: 'Try again' }];
    const { out, err, decided } = await follow({ canDecide: true, answer: '1' }, [failed, failed], {
      'approvals.get': { ...approval, title: 'review failed', input: { kind: 'choice', options } },
      'approvals.decide': { id: 'a-1', status: 'answered', by: 'ada' },
    });
    expect(decided).toEqual([{ id: 'a-1', decision: 'respond', digest: approval.digest, response: 'retry' }]);
    expect(out).toContain('t-1/review waits for a decision: holdpoint approval answer a-1\n');
    expect(out + err).not.toContain('stuck');
  });

  test.each([
    [
      'the requester under four eyes',
      { ...approval, requestedBy: 'ada', policy: { quorum: 1, fourEyes: true } },
    ],
    ['a person outside of the audience', { ...approval, audience: ['release'] }],
  ])('%s gets no prompt, and reads that another person decides', async (_, request) => {
    const { out, asked } = await follow({ canDecide: true, answer: 'y' }, [waiting], {
      'approvals.get': request,
    });
    expect(out).toBe('t-1/deploy waits for the decision of another person: holdpoint approval approve a-1\n');
    expect(asked).toBe(0);
  });

  test.each(['', 'n', 'yess', undefined])('a request stays pending after the answer %s', async (answer) => {
    expect((await follow({ canDecide: true, answer })).decided).toEqual([]);
  });

  test('with JSON output the hint goes to standard error, without a prompt', async () => {
    const { out, err, asked } = await follow({ canDecide: true, json: true });
    expect({ out, asked }).toEqual({ out: '', asked: 0 });
    expect(err).toContain('holdpoint approval approve a-1');
  });

  test('a request that others decided is not mentioned', async () => {
    const { out } = await follow({ canDecide: false }, [waiting], {
      'approvals.get': { ...approval, status: 'approved' },
    });
    expect(out).toBe('');
  });
});

test('a paused run prints its hint once per pause', async () => {
  const paused = runView('t-1', [], { phase: 'paused' });
  const goes = runView('t-1', [], { phase: 'executing' });
  const { err } = await follow({ canDecide: false }, [paused, paused, goes, paused]);
  expect(err.match(/holdpoint task resume t-1/g)).toHaveLength(2);
});

describe('a run that is left to a person', () => {
  const verdict = {
    kind: 'escalate',
    delayMs: 0,
    class: 'UNKNOWN',
    rule: 'verdicts@2/paused',
    reason: 'changes requested by grace',
  } as const;
  const stuck = nodeView('deploy', 'escalated', { verdict, question: 'a-1' });
  const paused = runView('t-1', [stuck], { phase: 'paused' });
  const question = { ...approval, stuck: { class: verdict.class, reason: verdict.reason } };
  const report = { 'recovery.report': { report: '# t-1/deploy', stuck: true } };

  test('a stuck job ends the following once its question is there and printed', async () => {
    const early = runView('t-1', [nodeView('deploy', 'escalated', { verdict })], { phase: 'paused' });
    const told = await follow({ canDecide: false }, [early, paused], {
      ...report,
      'approvals.get': question,
    });
    expect(told.left).toEqual([false, true]);
    expect(told.out).toContain('holdpoint recovery resolve t-1/deploy retry|skip|done|cancel');
  });

  test('the following continues while another job runs, and after the question is answered', async () => {
    const busy = runView('t-1', [stuck, nodeView('other', 'running')], { phase: 'paused' });
    expect(
      (await follow({ canDecide: false }, [busy], { ...report, 'approvals.get': question })).left,
    ).toEqual([false]);
    const answered = { ...question, status: 'answered' };
    expect(
      (await follow({ canDecide: false }, [paused], { ...report, 'approvals.get': answered })).left,
    ).toEqual([false]);
  });

  test('a run or a job that is paused by hand ends the following, with the command that resumes it', async () => {
    const byHand = runView('t-1', [nodeView('a', 'paused')], { phase: 'paused' });
    expect(await follow({ canDecide: false }, [byHand])).toMatchObject({
      left: [true],
      err: 'task t-1 is paused: holdpoint task resume t-1\n',
    });
    const oneJob = runView('t-1', [nodeView('a', 'succeeded'), nodeView('b', 'paused')]);
    expect(await follow({ canDecide: false }, [oneJob])).toMatchObject({
      left: [true],
      err: 't-1/b is paused: holdpoint task resume t-1/b\n',
    });
  });

  test('a pending approval does not end the following, because it expires', async () => {
    expect((await follow({ canDecide: false })).left).toEqual([false, false]);
  });
});

test('a task that is paused by an escalated job does not suggest to resume it', async () => {
  const stuck = runView('t-1', [nodeView('build', 'escalated')], { phase: 'paused' });
  const { err } = await follow({ canDecide: false }, [stuck], {
    'recovery.report': { report: '# t-1/build', stuck: true },
  });
  expect(err).not.toContain('task resume');
});

test('a run that waits for a circuit prints how to continue now', async () => {
  const held = runView('t-1', [], { phase: 'circuit_open', circuit: 'workflow:release' });
  const { err } = await follow({ canDecide: false }, [held, held]);
  expect(err).toBe(
    'task t-1 waits for workflow:release and continues automatically; to continue now: holdpoint circuit close <target>\n',
  );
});

describe('a stuck job of a run', () => {
  const verdict = {
    kind: 'skip',
    delayMs: 0,
    class: 'VERIFICATION_FAILED',
    rule: 'verdicts@3/verification-again',
    reason: 'the check failed as often as the limit allows',
  } as const;
  const stuck = runView('t-1', [nodeView('check', 'escalated', { attempt: 3, verdict, question: 'a-9' })], {
    phase: 'recovering',
  });
  const about = (answers: Answers): Answers => ({
    'approvals.get': { ...approval, id: 'a-9', stuck: { class: verdict.class, reason: 'r' } },
    'recovery.report': {
      report: '# t-1/check\n\nIt has **failed**: ERR\\_FORBIDDEN, a \\> b.\n\u001b[2J',
      stuck: true,
    },
    ...answers,
  });

  test('a stuck job is reported once, with the start of its report and the next command', async () => {
    const { out } = await follow({ canDecide: false }, [stuck, stuck], about({}));
    expect(out.split('\n')).toEqual([
      't-1/check is stuck: VERIFICATION_FAILED: the check failed as often as the limit allows: holdpoint recovery resolve t-1/check retry|skip|done|cancel',
      '  # t-1/check',
      '  It has failed: ERR_FORBIDDEN, a > b.',
      '  \\u{1b}[2J',
      '  … holdpoint recovery report t-1/check',
      '',
    ]);
  });

  test('a stuck job is reported again for another attempt, but not for a later question', async () => {
    const early = runView('t-1', [nodeView('check', 'escalated', { attempt: 3, verdict })]);
    const goes = runView('t-1', [nodeView('check', 'running', { attempt: 4 })]);
    const again = runView('t-1', [nodeView('check', 'escalated', { attempt: 4, verdict })]);
    const { out } = await follow({ canDecide: false }, [early, stuck, goes, again], about({}));
    expect(out.match(/is stuck/g)).toHaveLength(2);
  });

  test('with JSON output a stuck job is one line on standard error', async () => {
    const { out, err } = await follow({ canDecide: false, json: true }, [stuck], about({}));
    expect(out).toBe('');
    expect(err).toMatch(/^t-1\/check is stuck: .*holdpoint recovery resolve t-1\/check .*\n$/);
  });

  test('a stuck job is reported without a report too', async () => {
    const refused = new HoldpointError('RUNTIME_UNAVAILABLE', 'away');
    const { out } = await follow({ canDecide: false }, [stuck], about({ 'recovery.report': refused }));
    expect(out.match(/\n/g)).toHaveLength(1);
  });

  test('an in-doubt effect is reported as a question, once it arrives', async () => {
    const doubt = { ...verdict, kind: 'escalate', class: 'EFFECT_IN_DOUBT' } as const;
    const early = runView('t-1', [nodeView('pay', 'escalated', { verdict: doubt })]);
    const asked = runView('t-1', [nodeView('pay', 'escalated', { verdict: doubt, question: 'a-9' })]);
    const answers = about({
      'approvals.get': { ...approval, id: 'a-9', inDoubt: { epoch: 1, reason: 'lost' } },
    });
    expect((await follow({ canDecide: false }, [early, early], answers)).out).toBe('');
    const { out } = await follow({ canDecide: false }, [early, asked, asked], answers);
    expect(out).toMatch(
      /^t-1\/pay: did it happen\? .*: holdpoint approval answer a-9 applied\|not_applied\|retry\n$/,
    );
  });
});
