import { generateKeyPairSync } from 'node:crypto';
import { Scope } from '@holdpoint/contracts/approval/access-token';
import { IDENTITY_HEADER, IDENTITY_MS } from '@holdpoint/contracts/approval/identity';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { createSigner } from '@holdpoint/runtime/service/jws';
import { headers } from '@nats-io/transport-node';
import { z } from 'zod';
import { OURS, type Recorder } from '../bus-recorder.ts';
import { createRandom } from '../random.ts';
import { defineFault } from './fault.ts';
import { withSenders } from './senders.ts';

const Held = z.object({ task: TaskId, node: NodeId });

/** Nodes that wait for people, or have waited. */
const heldNodes = (recorder: Recorder): readonly z.infer<typeof Held>[] =>
  recorder.latest().flatMap(({ subject, body }) => {
    if (!subject.startsWith('hp.evt.approval.requested.')) return [];
    const { data } = Held.safeParse(JSON.parse(Buffer.from(body).toString('utf8')));
    return data === undefined ? [] : [data];
  });

const KINDS = ['done', 'skip', 'cancel'] as const;
const NAMES = ['operator', 'Operator', 'ada', 'user:operator', 'orchestrator'] as const;

/** An assertion that another key than that of approvals has signed. */
const forgedIdentity = (): string => {
  const iat = Math.floor(Date.now() / 1_000);
  const person = { sub: 'operator', groups: ['operators'], roles: [], scopes: Scope.options };
  return createSigner(generateKeyPairSync('ed25519').privateKey)({
    use: 'identity',
    ...person,
    iat,
    exp: iat + IDENTITY_MS / 1_000,
  });
};

/**
 * Somebody with the bus user of people ends held nodes in the names of others, and marks a rollback as ordered by
 * a verdict. Each message becomes a dead letter; no task completes without its effect.
 */
export const impostor = defineFault({
  name: 'impostor',
  group: 'attack',
  weight: 2,
  params: z.object({ messages: z.int().min(1), seed: z.string() }),
  draw: (random) => ({ messages: random.int(20, 80), seed: String(random.int(0, 2 ** 31)) }),
  takes: () => ['nats'],
  inject: ({ messages, seed }, { deployment, recorder, step }) =>
    withSenders(deployment, async ({ operator }) => {
      const random = createRandom(`${seed}/impostor`);
      const held = heldNodes(recorder);
      const say = (command: string, number: number, body: object): void => {
        const marked = headers();
        marked.set(HEADERS.messageId, `${OURS}impostor-${String(step)}-${String(number)}`);
        const identity = random.pick(['', 'a.b.c', forgedIdentity()]);
        if (identity !== '') marked.set(IDENTITY_HEADER, identity);
        operator.publish(`hp.cmd.task.${command}`, JSON.stringify(body), { headers: marked });
      };
      for (let i = 0; i < messages && held.length > 0; i += 1) {
        const { task, node } = random.pick(held);
        say(random.pick(KINDS), i, { id: task, node, by: random.pick(NAMES) });
      }
      const mark = { task: 'victim', node: 'work', attempt: 1, worktree: '.holdpoint/worktrees/victim' };
      say('submit', messages, {
        id: `x-impostor-${String(step)}`,
        workflow: 'rollback',
        goal: 'undo the work of another task',
        requestedBy: random.pick(NAMES),
        repository: '/srv/repository',
        inputs: {
          task: mark.task,
          node: mark.node,
          attempt: 1,
          commit: 'a'.repeat(40),
          place: { worktree: mark.worktree },
        },
        rollbackOf: mark,
      });
      await operator.flush();
      return { sent: messages + 1, held: held.length };
    }),
});
