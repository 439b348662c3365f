import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AccessTokenView } from '@holdpoint/contracts/approval/access-token';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { AUDIT_ROOT, auditHash, type AuditLine } from '@holdpoint/contracts/audit/audit';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { AUDIT_ID, type TaskId } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { root } from '@holdpoint/infra/local/folders';
import { remoteSample } from './remote-sample.ts';
import type { StandInState } from './stand-in.ts';

const example = (name: string): unknown =>
  JSON.parse(readFileSync(join(root, 'packages/contracts/examples/api', `${name}.json`), 'utf8'));

const TASK = 't-hmd6mtstfwhc' as TaskId;
const MINUTE = 60_000;

/** Hostile text: tags, reversed direction, invisible characters and endless length. */
export const HOSTILE = {
  script: '<script>document.title="taken"</script><img src=x onerror="document.title=\'taken\'">',
  bidi: 'pay 10\u202E00001 \u2066to\u2069 mallory\u200B',
  long: 'A'.repeat(300_000),
} as const;

type Some = Readonly<Record<string, unknown>>;

const approval = (id: string, rest: Some, effect: Some = {}): ApprovalView => {
  const sample = example('approvals.get.response--effect') as Some & { readonly effect: Some };
  const { decidedBy: _by, decidedAt: _at, surface: _surface, comment: _comment, ...request } = sample;
  const now = Date.now();
  const shown = { ...sample.effect, ...effect } as unknown as CanonicalEffect;
  return {
    ...request,
    id,
    status: 'pending',
    requestedAt: now - 4 * MINUTE,
    expiresAt: now + 26 * MINUTE,
    ...rest,
    effect: shown,
    // The page computes it anew, and refuses to decide on another.
    digest: effectDigest(shown),
  } as unknown as ApprovalView;
};

const DIFF = `diff --git a/src/greetings.ts b/src/greetings.ts
--- a/src/greetings.ts
+++ b/src/greetings.ts
@@ -1,6 +1,8 @@
 export const greetings = {
   en: 'Hello',
-  de: 'Hallo',
+  de: 'Guten Tag',
+  fr: 'Bonjour',
 };

-export const greet = (language) => greetings[language];
+export const greet = (language: keyof typeof greetings, name: string) =>
+  \`\${greetings[language]}, \${name}\`;
diff --git a/docs/greetings.md b/docs/greetings.md
new file mode 100644
--- /dev/null
+++ b/docs/greetings.md
@@ -0,0 +1,2 @@
+# Greetings
+In English, German and French.
`;

const approvals = (): ApprovalView[] =>
  [
    approval(
      'a-merge00001',
      {
        title: 'Merge draft/greetings into main',
        risk: 'high',
        revision: 2,
        requestedBy: 'ada',
        workflow: 'shop.greetings@v1',
        body: 'The greetings are ready: French is new, German is more polite.\nAll checks have passed.',
        policy: { quorum: 1, fourEyes: true },
        previous: {
          id: 'a-merge00000',
          status: 'changes_requested',
          comment: 'German should be more polite',
          changes:
            '--- before\n+++ now\n@@ -3,1 +3,2 @@\n-  "de": "Hallo"\n+  "de": "Guten Tag"\n+  "fr": "Bonjour"\n',
        },
      },
      {
        node: 'merge',
        kind: 'merge',
        effectClass: 'fenced',
        uses: 'cap.git.integrate',
        target: 'branch:main',
        args: {
          repository: '/srv/shop',
          with: { source: 'draft/greetings', message: 'Greet in three languages' },
          preview: {
            commits: [
              { sha: '9f2c1d7a4b6e8f0a1c3d5e7f9b1a3c5d7e9f0b2d', subject: 'French greetings' },
              { sha: '1b7e0aa24b6e8f0a1c3d5e7f9b1a3c5d7e9f0b2d', subject: 'Be polite in German' },
            ],
            diffstat:
              ' docs/greetings.md | 2 ++\n src/greetings.ts | 6 ++++--\n 2 files changed, 6 insertions(+), 2 deletions(-)',
            patch: DIFF,
          },
        },
      },
    ),
    approval(
      'a-deploy0001',
      {
        title: 'Deploy shop 2.4.0 to production',
        risk: 'high',
        requestedBy: 'release-bot',
        // Of one risk, the older request comes first.
        requestedAt: Date.now() - 5 * MINUTE,
        expiresAt: Date.now() + 3 * MINUTE,
      },
      {
        kind: 'deploy',
        effectClass: 'probeable',
        uses: 'cap.shell.run',
        target: 'host:shop-production',
        args: { script: 'kubectl apply -k deploy/production\nkubectl rollout status deployment/shop' },
      },
    ),
    approval(
      'a-notify0001',
      { title: 'Tell #builds that the build is done', risk: 'low', requestedBy: 'grace' },
      {
        kind: 'notify',
        effectClass: 'idempotent',
        uses: 'cap.notify.send',
        target: 'notify:#builds',
        args: { text: 'The build is done.' },
      },
    ),
    approval('a-write00001', {
      title: 'Append one line to greetings.txt',
      risk: 'medium',
      requestedAt: Date.now() - 9 * MINUTE,
    }),
    {
      ...(example('approvals.get.response--stuck') as ApprovalView),
      id: 'a-stuck00001' as ApprovalView['id'],
      status: 'pending',
      expiresAt: Date.now() + 86_400_000,
    },
    approval(
      'a-hostile001',
      {
        title: `${HOSTILE.script} ${HOSTILE.bidi}`,
        risk: 'medium',
        requestedBy: `mallory ${HOSTILE.bidi}`,
        body: `${HOSTILE.script}\n${HOSTILE.bidi}\n${HOSTILE.long}`,
      },
      { target: `file:${HOSTILE.bidi}`, args: { content: `${HOSTILE.script}\n${HOSTILE.long}` } },
    ),
  ]
    .map(({ comment: _, decidedBy: _b, decidedAt: _a, answer: _w, ...view }) => view as ApprovalView)
    .concat(
      approval('a-decided001', {
        title: 'Tell #shop that 2.3.0 is out',
        status: 'approved',
        decidedBy: 'grace',
        decidedAt: Date.now() - 60 * MINUTE,
        surface: 'discord',
      }),
    );

const NODES = [
  ['prepare', 'Prepare the worktree', [], 'succeeded', 1],
  ['write', 'Write the greetings', ['prepare'], 'succeeded', 2],
  ['check', 'Build and test', ['write'], 'succeeded', 3],
  ['docs', 'Update the documents', ['write'], 'running', 1],
  ['merge', 'Merge into main', ['check', 'docs'], 'waiting_on_approval', 1],
  ['tell', 'Tell the team', ['merge'], 'waiting_on_deps', 1],
] as const;

const task = (): TaskView =>
  ({
    ...(example('orchestrator.get.response') as Some),
    phase: 'awaiting_approval',
    version: 12,
    goal: 'Greet the reader in three languages',
    error: undefined,
    outcome: undefined,
    circuit: undefined,
    nodes: NODES.map(([id, name, after, job, attempt]) => ({
      id,
      name,
      after: [...after],
      job,
      status: job,
      attempt,
      uses: 'cap.agent.invoke',
      gated: id === 'merge',
      ...(id === 'merge' && { approval: 'a-merge00001', wait: { kind: 'approval', detail: 'operators' } }),
    })),
  }) as unknown as TaskView;

const history = (): HistoryEntry[] => {
  const start = Date.now() - 20 * MINUTE;
  const events: readonly (readonly [string, Some])[] = [
    [
      'submitted',
      {
        phase: 'queued',
        goal: 'Greet the reader',
        definition: {
          id: 'shop.greetings',
          version: 'v1',
          nodes: NODES.map(([id, , after]) => ({
            id,
            after,
            on: id === 'check' ? { failed: ['write'] } : {},
          })),
        },
      },
    ],
    ['ready', { phase: 'execution_ready' }],
    ['node_started', { phase: 'executing', node: 'prepare', attempt: 1 }],
    [
      'node_succeeded',
      { phase: 'executing', node: 'prepare', attempt: 1, detail: 'worktree .holdpoint/worktrees/greetings' },
    ],
    ['node_started', { phase: 'executing', node: 'write', attempt: 1 }],
    [
      'node_failed',
      {
        phase: 'recovering',
        node: 'write',
        attempt: 1,
        error: { code: 'NODE_FAILED', message: 'the agent has stopped' },
      },
    ],
    ['node_retrying', { phase: 'recovering', node: 'write', attempt: 2, delayMs: 0 }],
    ['node_succeeded', { phase: 'executing', node: 'write', attempt: 2 }],
    ['node_started', { phase: 'executing', node: 'check', attempt: 3 }],
    ['node_succeeded', { phase: 'executing', node: 'check', attempt: 3 }],
    ['node_started', { phase: 'executing', node: 'docs', attempt: 1 }],
    [
      'approval_requested',
      { phase: 'awaiting_approval', node: 'merge', attempt: 1, approval: 'a-merge00001' },
    ],
  ];
  return events.map(([type, data], i) => ({
    version: i + 1,
    at: start + i * 47_000,
    type,
    data: { type, id: TASK, ...data } as HistoryEntry['data'],
  }));
};

/** An audit log as the database writes it, with an anchor at its end. */
const audited = () => {
  const pair = generateKeyPairSync('ed25519');
  const key = signingKeyOf(pair.publicKey);
  const lines: AuditLine[] = [];
  const add = (aggregate: string, type: string, entry: string): AuditLine => {
    const draft = {
      seq: lines.length + 1,
      at: Date.now() - 5 * MINUTE,
      aggregate,
      version: lines.length + 1,
      type,
      eventSha256: sha256Of(entry),
      entry,
      previous: lines.at(-1)?.hash ?? AUDIT_ROOT,
    };
    const line = { ...draft, hash: auditHash(draft) };
    lines.push(line);
    return line;
  };
  add('a-other00001', 'requested', '{"requestedBy": "ada"}');
  add(
    'a-merge00001',
    'requested',
    '{"requestedBy": "ada", "digest": "f1660afb90fd50be407c1ca884688325e2412b8e331c6d476c5a97f9d07274a9"}',
  );
  const { seq, hash } = add('a-merge00001', 'delivered', '{"surface": "discord"}');
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'EdDSA', kid: key.kid })}.${encode({ use: 'audit', seq, hash, iat: 1 })}`;
  const statement = `${text}.${sign(null, Buffer.from(text), pair.privateKey).toString('base64url')}`;
  add(AUDIT_ID, 'audit_anchored', JSON.stringify({ seq, hash, statement }));
  return { audit: lines, keys: [key] };
};

/** A small system with work in progress. */
export const sampleState = (): StandInState => ({
  approvals: approvals(),
  tasks: [
    task(),
    { ...task(), id: 't-9vk3q0ye7n2d' as TaskId, goal: `${HOSTILE.script} ${HOSTILE.bidi}`, phase: 'failed' },
    { ...task(), id: 't-0000000done1' as TaskId, goal: 'Append a line', phase: 'completed' },
  ],
  history: history(),
  log: Array.from({ length: 40 }, (_, i) => ({
    node: 'docs',
    attempt: 1,
    step: 'run',
    stream: i % 9 === 8 ? 'stderr' : 'stdout',
    seq: i + 1,
    line:
      i === 20
        ? `${HOSTILE.script} ${HOSTILE.bidi}`
        : i === 30
          ? 'B'.repeat(65_536)
          : `docs: page ${String(i + 1)} of 40`,
    at: Date.now(),
  })),
  recovery: example('recovery.history.response') as StandInState['recovery'],
  stuck: (example('recovery.stuck.response') as { items: StandInState['stuck'] }).items,
  report: (example('approvals.get.response--stuck') as { body: string }).body,
  classes: [
    { class: 'TRANSIENT', count: 12, back: 5 },
    { class: 'BROKEN_BUILD', count: 1, back: 1 },
    { class: 'VERIFICATION_FAILED', count: 3, back: 1 },
  ],
  more: undefined,
  circuits: (example('recovery.circuits.response') as { items: StandInState['circuits'] }).items.slice(0, 1),
  ...audited(),
  people: [
    { name: 'operator', groups: ['operators'], status: 'active', source: 'file', administrator: true },
    {
      name: 'grace',
      displayName: `Grace ${HOSTILE.bidi}`,
      groups: ['release', 'on-call'],
      status: 'active',
      source: 'store',
      administrator: false,
      addedBy: 'operator',
      addedAt: 1_768_469_400_000,
    },
  ],
  tokens: [
    {
      ...(example('approvals.token_create.response') as AccessTokenView),
      principal: 'grace',
      name: 'laptop of Grace',
      status: 'active',
      revokedBy: undefined,
      agent: undefined,
      signIn: undefined,
      expiresAt: undefined,
      usedAt: 1_768_469_460_000,
    },
    {
      ...(example('approvals.token_create.response') as AccessTokenView),
      id: 'k-session000' as AccessTokenView['id'],
      principal: 'operator',
      name: 'console sign-in',
      status: 'active',
      revokedBy: undefined,
      agent: undefined,
      expiresAt: Date.now() + 3_600_000,
    },
  ],
  rules: (example('approvals.rule_list.response') as { items: StandInState['rules'] }).items.map((rule) => ({
    ...rule,
    status: 'active' as const,
    author: 'grace',
  })),
  scopes: [
    'approvals:read',
    'approvals:decide',
    'rules:write',
    'tokens:write',
    'audit:read',
    'tasks:read',
    'tasks:write',
    'operations:write',
    'tasks:submit',
    'people:write',
  ],
  isAdministrator: true,
  ...remoteSample(),
  refusePerson: undefined,
  code: `hpc_${'a'.repeat(43)}`,
  content: 'only the beginning of it',
  artifacts: (example('executor.artifacts.response') as { items: StandInState['artifacts'] }).items,
  health: {
    at: Date.now(),
    services: [
      { name: 'orchestrator', up: true, replicas: 2, latencyMs: 4 },
      { name: 'approvals', up: true, replicas: 1, latencyMs: 2 },
      { name: 'executor', up: false, detail: 'no answer within 2000 ms' },
      { name: 'recovery', up: true, replicas: 1, latencyMs: 6 },
    ],
    streams: [
      {
        name: 'HP_CMD',
        messages: 1_204,
        bytes: 882_133,
        consumers: [{ name: 'executor', service: 'executor', pending: 17, ackPending: 2 }],
      },
      { name: 'HP_EVT', messages: 12_443, bytes: 9_882_133, consumers: [] },
    ],
  },
  letters: [
    {
      id: 'orchestrator-3',
      service: 'orchestrator',
      letter: {
        subject: 'hp.cmd.task.submit',
        reason: { code: 'CONTRACT_INVALID', message: 'goal: Required' },
        headers: {},
        body: '{"workflow":"draft"}',
        bodyBytes: 20,
        bodySha256: '0'.repeat(64),
        deliveries: 1,
        at: Date.now(),
      },
    },
  ],
  workflows: [
    {
      id: 'sample',
      version: '1',
      title: 'Append a line to a file after approval',
      kind: 'built_in',
      repository: 'unused',
      inputs: [{ type: 'text', name: 'file', label: 'File', required: false, default: 'sample.txt' }],
    },
    {
      id: 'merge',
      version: '1',
      title: 'Merge: the branch of an approved plan is merged',
      kind: 'built_in',
      repository: 'needed',
      inputs: [
        {
          type: 'list',
          name: 'agent',
          label: 'Command of the agent',
          help: 'each word on a line',
          required: true,
        },
        { type: 'text', name: 'slug', label: 'Short name', help: 'of the plan', required: false },
        { type: 'text', name: 'cicd_script', label: 'Check script', required: false, multiline: true },
        {
          type: 'number',
          name: 'cicd_retries',
          label: 'Check retries',
          required: false,
          integer: true,
          min: 0,
          default: 3,
        },
        { type: 'boolean', name: 'squash', label: 'Squash', required: false, default: true },
        {
          type: 'choice',
          name: 'method',
          label: 'Method',
          required: false,
          options: [
            { value: 'POST', label: 'POST' },
            { value: 'PUT', label: 'PUT' },
          ],
          default: 'POST',
        },
        { type: 'json', name: 'headers', label: 'Headers', required: false },
      ],
    },
    { id: HOSTILE.script, version: '2', kind: 'program', repository: 'optional' },
  ],
  refusal: undefined,
  fate: 'answer',
  token: 'hp_sample',
});
