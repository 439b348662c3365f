import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { OLDEST_SERVER } from '@holdpoint/contracts/bus/server-needs';
import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import {
  AckPolicy,
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import type { JetStreamManager, JsMsg } from '@nats-io/jetstream';
import { Svcm } from '@nats-io/services';
import { connect, headers, PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { generateCredentials } from '../credentials/generate.ts';
import { natsUsers } from '../credentials/layout.ts';
import type { NatsUser } from '../credentials/layout.ts';
import { startNats } from '../local/nats/configured-nats.ts';
import type { NatsServer } from '../local/nats/nats.ts';
import { findNats, natsSearchOf } from '../local/nats/nats-program.ts';
import type { NatsProgram } from '../local/nats/nats-program.ts';
import { natsRelease } from '../local/nats/nats-release.ts';
import { poll } from '../local/poll.ts';
import { choosePorts } from '../local/ports.ts';
import { silent } from '../local/progress.ts';
import { recordInTurn, recordOf } from '../local/record.ts';
import { operatorMode } from '../testing/operator-mode.ts';
import { ACCOUNTS, busAccess, CORE, overlap } from './accounts.ts';
import { connectAs } from './connect.ts';

const OLDEST_RELEASE = '2.11.17';
const search = natsSearchOf(process.env);

const attempt = async (program: () => Promise<NatsProgram>) => {
  try {
    return await program();
  } catch {
    return undefined;
  }
};

// The server of this machine, and the oldest supported one, as the cache has it or as Go builds it.
const local = await findNats({ ...search, docker: false }, silent);
const oldest = await attempt(() =>
  findNats(
    { ...search, path: '', docker: false, release: { ...natsRelease, version: OLDEST_RELEASE, sha256: {} } },
    silent,
  ),
);
// Supported from 2.14 on, and the default from 2.16 on.
const withV2 = local.version.minor >= 14 ? local : undefined;
const v2Acks = '\nfeature_flags { js_ack_fc_v2: true }\n';

const oldestSupported = oldest?.version.minor === OLDEST_SERVER.minor ? oldest : undefined;

type Setup = { readonly extraConfig?: string; readonly isOperatorMode?: boolean };
const operatorSetup: Setup = { isOperatorMode: true };

const servers: readonly (readonly [string, NatsProgram | undefined, Setup])[] = [
  [local.origin, local, {}],
  [`the oldest server, ${OLDEST_RELEASE}`, oldestSupported, {}],
  ['a server that acknowledges in the second form', withV2, { extraConfig: v2Acks }],
  ['a server in operator mode', local, operatorSetup],
  [`the oldest server, ${OLDEST_RELEASE}, in operator mode`, oldestSupported, operatorSetup],
];

const { permissions } = busAccess();

/** One message for each consumer, with its sender. A new consumer needs one too. */
const samples: Readonly<Record<string, readonly [NatsUser, string]>> = {
  orchestrator: ['orchestrator', 'hp.cmd.task.submit'],
  'orchestrator-people': ['operator', 'hp.cmd.task.submit'],
  'orchestrator-approval': ['approvals', 'hp.evt.approval.resolved.a-1'],
  'orchestrator-effect': ['executor', 'hp.evt.effect.applied.e-1'],
  approvals: ['orchestrator', 'hp.cmd.approval.request'],
  'approvals-effect': ['executor', 'hp.evt.effect.applied.e-2'],
  'executor-default': ['orchestrator', 'hp.cmd.effect.run.default'],
  recovery: ['orchestrator', 'hp.cmd.recovery.assess'],
};

// The client shows the reply subject, which is that of the acknowledgement, only in its inner message.
const replyOf = (message: JsMsg): string =>
  z.object({ msg: z.object({ reply: z.string() }) }).parse(message).msg.reply;

describe.each(servers)('on %s', (_origin, program, { extraConfig = '', isOperatorMode = false }) => {
  describe.skipIf(program === undefined)('the users', () => {
    let dir = '';
    let server: NatsServer;
    let connections: Readonly<Record<NatsUser, NatsConnection>>;
    const violations: Readonly<Record<NatsUser, PermissionViolationError[]>> = recordOf(natsUsers, () => []);
    let manager: JetStreamManager;

    const listen = async (user: NatsUser, nc: NatsConnection) => {
      for await (const status of nc.status()) {
        if (status.type === 'error' && status.error instanceof PermissionViolationError)
          violations[user].push(status.error);
      }
    };

    /** The permission errors caused by `act`: the server answers a ping after it has reported them. */
    const refused = async (user: NatsUser, act: (nc: NatsConnection) => void): Promise<readonly string[]> => {
      violations[user].length = 0;
      act(connections[user]);
      await connections[user].flush();
      await turn();
      return violations[user].map(({ subject }) => subject);
    };
    const mayPublish = async (user: NatsUser, subject: string) =>
      (await refused(user, (nc) => nc.publish(subject, '{}'))).length === 0;

    const publishersOf = async (subject: string) => {
      const allowed: NatsUser[] = [];
      for (const user of natsUsers) if (await mayPublish(user, subject)) allowed.push(user);
      return allowed;
    };

    beforeAll(async () => {
      if (program === undefined) return;
      dir = await mkdtemp(join(tmpdir(), 'holdpoint-nats-'));
      const credentialsDir = join(dir, 'credentials');
      await generateCredentials(credentialsDir);
      const ports = await choosePorts();
      server = await startNats({
        program,
        dir: join(dir, 'nats'),
        credentialsDir,
        port: ports.nats,
        logFile: join(dir, 'nats.log'),
        extraConfig,
        ...(isOperatorMode && { accounts: (await operatorMode({ credentialsDir })).accounts }),
      });
      connections = await recordInTurn(natsUsers, (user) =>
        connectAs({ url: server.url, credentialsDir, user }),
      );
      for (const user of natsUsers) void listen(user, connections[user]);
      manager = await jetstreamManager(connections.topology);
      for (const { name, subjects, description, maxAgeMs, maxBytes, duplicateWindowMs } of streams) {
        await manager.streams.add({
          name,
          subjects: [...subjects],
          description,
          max_age: maxAgeMs * 1e6,
          max_bytes: maxBytes,
          duplicate_window: duplicateWindowMs * 1e6,
          retention: RetentionPolicy.Limits,
          storage: StorageType.File,
          discard: DiscardPolicy.Old,
          deny_delete: true,
          deny_purge: true,
          allow_direct: true,
        });
        await manager.streams.update(name, { max_age: 2 * maxAgeMs * 1e6 });
      }
      for (const { name, stream, filter, ackWaitMs } of consumers) {
        await manager.consumers.add(stream, {
          durable_name: name,
          filter_subject: filter,
          ack_policy: AckPolicy.Explicit,
          ack_wait: ackWaitMs * 1e6,
        });
        await manager.consumers.update(stream, name, { ack_wait: 2 * ackWaitMs * 1e6 });
      }
    }, 60_000);

    afterAll(async () => {
      if (dir === '') return;
      await Promise.all(Object.values(connections).map((nc) => nc.close()));
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    }, 60_000);

    test('every connection needs a key', async () => {
      await expect(connect({ servers: server.url, reconnect: false })).rejects.toThrow(/authorization/i);
    });

    test.each<readonly [string, readonly NatsUser[]]>([
      ['hp.evt.task.completed.t-1', ['orchestrator']],
      ['hp.evt.approval.resolved.a-1', ['approvals']],
      ['hp.evt.effect.applied.e-1', ['executor']],
      ['hp.evt.recovery.assessed.r-1', ['recovery']],
      ['hp.cmd.task.submit', ['orchestrator', 'operator']],
      ['hp.cmd.task.cancel', ['orchestrator', 'operator']],
      ['hp.cmd.task.done', ['operator']],
      ['hp.cmd.task.checkpoint', ['operator']],
      ['hp.cmd.task.recover', ['recovery']],
      ['hp.cmd.task.circuit_state', ['recovery']],
      ['hp.cmd.approval.request', ['orchestrator']],
      ['hp.cmd.approval.decide', []],
      ['hp.cmd.effect.run.default', ['orchestrator']],
      ['hp.cmd.recovery.assess', ['orchestrator']],
      ['hp.cmd.recovery.record_attempt', ['orchestrator']],
      ['hp.cmd.recovery.job_unstuck', ['orchestrator']],
      ['hp.cmd.recovery.circuit_acquire', ['orchestrator']],
      ['hp.cmd.recovery.circuit_record_failure', ['recovery']],
      ['hp.api.recovery.circuits', ['orchestrator', 'approvals', 'executor', 'operator']],
      ['hp.api.orchestrator.cancel', ['approvals', 'operator']],
      ['hp.api.orchestrator.submit', ['approvals', 'operator']],
      ['hp.api.orchestrator.program_register', ['operator', 'worker']],
      ['$JS.API.DIRECT.GET.HP_CMD', []],
      ['hp.log.t-1.build', ['executor']],
      ...SERVICES.map((service) => [`hp.api.${service}.x`, ['operator']] as const),
      ['$JS.API.STREAM.CREATE.OTHER', []],
      ['$SYS.REQ.SERVER.PING', []],
      ['hp.in.task.submit', []],
      ['hp.ping.executor', ['approvals']],
      ['$JS.API.CONSUMER.CREATE.HP_EVT.mine', []],
      ['$JS.API.CONSUMER.CREATE.HP_WORK.work-1.hp.work.1', ['topology']],
    ])('%s can be published by %j only', async (subject, expected) => {
      expect(await publishersOf(subject)).toEqual(expected);
    });

    test.each(streams.map(({ name }) => [name] as const))(
      'no user can delete, purge or copy the stream %s',
      async (stream) => {
        for (const verb of ['DELETE', 'PURGE', 'MSG.DELETE', 'SNAPSHOT']) {
          expect([verb, await publishersOf(`$JS.API.STREAM.${verb}.${stream}`)]).toEqual([verb, []]);
        }
      },
    );

    test.each(consumers.map((consumer) => [consumer.name, consumer] as const))(
      'only its service reads the consumer %s',
      async (_name, { stream, name, service }) => {
        expect(await publishersOf(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`)).toEqual([service]);
        expect(await publishersOf(`$JS.ACK.${stream}.${name}.9.9.9.1700000000000000000.0`)).toEqual([
          service,
        ]);
        for (const verb of ['DURABLE.CREATE', 'CREATE']) {
          expect([verb, await publishersOf(`$JS.API.CONSUMER.${verb}.${stream}.${name}`)]).toEqual([
            verb,
            [],
          ]);
        }
      },
    );

    test.each(SERVICES.map((service) => [service] as const))(
      'the %s receives its own inbox and API only',
      async (service) => {
        const own = [`_INBOX_${service}.>`, `hp.api.${service}.>`, '$SRV.PING'];
        const others = natsUsers.filter((user) => user !== service).map((user) => `_INBOX_${user}.>`);
        for (const subject of [...own, ...others, '_INBOX.>', 'hp.>', 'hp.evt.>', 'hp.cmd.>', '$JS.>', '>']) {
          const refusals = await refused(service, (nc) =>
            nc.subscribe(subject, { callback: () => undefined }),
          );
          expect({ subject, refusals }).toEqual({
            subject,
            refusals: own.includes(subject) ? [] : [subject],
          });
        }
      },
    );

    test.each(consumers.map((consumer) => [consumer.name, consumer] as const))(
      'the consumer %s is read and acknowledged by its service',
      async (_name, { stream, name, service }) => {
        const [sender, subject] = samples[name] ?? [];
        if (sender === undefined || subject === undefined) throw new Error(`no sample of what ${name} reads`);
        const id = `sample for ${name}`;
        connections[sender].publish(subject, id);
        await connections[sender].flush();
        const consumer = await jetstream(connections[service]).consumers.get(stream, name);
        // The matrix above has published on some of these subjects too.
        const message = await poll(
          async () => {
            const next = await consumer.next({ expires: 1_000 });
            if (next?.string() === id) return next;
            next?.ack();
            return undefined;
          },
          { timeoutMs: 5_000, what: `${service} receives ${subject}` },
        );
        expect(extraConfig === v2Acks ? [11] : [9, 11]).toContain(replyOf(message).split('.').length);
        expect(await message.ackAck()).toBe(true);
      },
    );

    test('an answer goes to the account of the requester for every reply subject', async () => {
      const service = await new Svcm(connections.approvals).add({ name: 'approvals', version: '1.0.0' });
      service.addEndpoint('echo', {
        subject: 'hp.api.approvals.echo',
        handler: (_error, message) => void message.respond('here'),
      });
      await connections.approvals.flush();
      expect(
        (await connections.operator.request('hp.api.approvals.echo', '', { timeout: 5_000 })).string(),
      ).toBe('here');

      const heard: string[] = [];
      connections.operator.subscribe('hp.evt.approval.>', {
        callback: (_error, { data }) => void heard.push(new TextDecoder().decode(data)),
      });
      const before = (await manager.streams.info('HP_EVT')).state.messages;
      connections.operator.publish('hp.api.approvals.echo', '', { reply: 'hp.evt.approval.resolved.a-1' });
      await poll(async () => (heard.includes('here') ? true : undefined), {
        timeoutMs: 5_000,
        what: 'the operator hears the answer',
      });
      expect((await manager.streams.info('HP_EVT')).state.messages).toBe(before);
      await service.stop();
    });

    // An account with JWTs imports a subject from one account only.
    const discovered = isOperatorMode ? SERVICES.map((name) => `holdpoint-${name}`) : [undefined];

    test('people discover the services of all accounts', async () => {
      const running = await Promise.all(
        SERVICES.map((name) =>
          new Svcm(connections[name]).add({ name: `holdpoint-${name}`, version: '1.0.0' }),
        ),
      );
      await Promise.all(SERVICES.map((name) => connections[name].flush()));
      for (const user of ['operator', 'monitor'] as const) {
        const names: string[] = [];
        for (const wanted of discovered)
          for await (const { name } of await new Svcm(connections[user])
            .client({ strategy: 'count', maxWait: 2_000, maxMessages: SERVICES.length / discovered.length })
            .ping(wanted))
            names.push(name);
        expect([user, names.toSorted()]).toEqual([
          user,
          SERVICES.map((name) => `holdpoint-${name}`).toSorted(),
        ]);
      }
      await Promise.all(running.map((service) => service.stop()));
    });

    test('the operator lists streams and consumers and reads events, but neither commands nor decisions', async () => {
      const asOperator = await jetstreamManager(connections.operator, { checkAPI: false });
      expect((await asOperator.streams.list().next()).map(({ config }) => config.name).toSorted()).toEqual(
        streams.map(({ name }) => name).toSorted(),
      );
      expect((await asOperator.consumers.list('HP_CMD').next()).length).toBe(
        consumers.filter(({ stream }) => stream === 'HP_CMD').length,
      );
      await jetstream(connections.orchestrator).publish('hp.evt.task.submitted.t-9', '{}');
      const { state } = await asOperator.streams.info('HP_EVT');
      const last = { seq: state.last_seq };
      expect((await asOperator.streams.getMessage('HP_EVT', last))?.subject).toBe(
        'hp.evt.task.submitted.t-9',
      );
      expect((await asOperator.direct.getMessage('HP_EVT', last))?.subject).toBe('hp.evt.task.submitted.t-9');
      const found: string[] = [];
      for await (const { subject } of await asOperator.direct.getBatch('HP_EVT', {
        seq: 1,
        next_by_subj: 'hp.evt.task.submitted.*',
        batch: 10,
      }))
        found.push(subject);
      expect(found).toContain('hp.evt.task.submitted.t-9');

      for (const [what, asked] of [
        ['a command', asOperator.streams.getMessage('HP_CMD', { seq: 1 })],
        ['a command of people', asOperator.direct.getMessage('HP_IN', { seq: 1 })],
        [
          'a consumer',
          asOperator.consumers.add('HP_EVT', { durable_name: 'mine', ack_policy: AckPolicy.None }),
        ],
      ] as const)
        await expect(asked, what).rejects.toThrow(/permission/i);
    });

    test('people hear events, output and orders of work of every account', async () => {
      const heard: string[] = [];
      const watches = ['hp.evt.>', 'hp.log.>', 'hp.work.>'].map((subject) =>
        connections.operator.subscribe(subject, {
          callback: (_error, message) => void heard.push(message.subject),
        }),
      );
      await connections.operator.flush();
      const said = [
        ['orchestrator', 'hp.evt.task.submitted.t-1'],
        ['orchestrator', 'hp.work.0123'],
        ['approvals', 'hp.evt.approval.requested.a-1'],
        ['executor', 'hp.evt.effect.applied.e-1'],
        ['executor', 'hp.log.t-1.build'],
        ['recovery', 'hp.evt.recovery.circuit_opened.c-1'],
      ] as const;
      for (const [user, subject] of said) connections[user].publish(subject, '{}');
      await poll(async () => (heard.length >= said.length ? true : undefined), {
        timeoutMs: 5_000,
        what: 'all of it is heard',
      });
      expect(heard.toSorted()).toEqual(said.map(([, subject]) => subject).toSorted());
      for (const watch of watches) watch.unsubscribe();
    });

    test("a command of a person arrives in the people's stream under any message id", async () => {
      const ids = headers();
      ids.set('Nats-Msg-Id', 'approval.request.a-1.1');
      const taken = await jetstream(connections.operator).publish('hp.cmd.task.submit', '{}', {
        headers: ids,
      });
      expect(taken).toMatchObject({ stream: 'HP_IN', duplicate: false });
      const sent = await jetstream(connections.orchestrator).publish('hp.cmd.approval.request', '{}', {
        headers: ids,
      });
      expect(sent).toMatchObject({ stream: 'HP_CMD', duplicate: false });
      const { state } = await manager.streams.info('HP_IN', { subjects_filter: '>' });
      expect(Object.keys(state.subjects ?? {})).toContain('hp.in.task.submit');
      expect(Object.keys(state.subjects ?? {}).every((subject) => subject.startsWith('hp.in.'))).toBe(true);
    });

    describe('a chosen reply subject', () => {
      /** Requests that make the server send stored bytes, or bytes of its own, to the reply subject. */
      const requestsOf = (user: NatsUser): readonly (readonly [string, string])[] =>
        permissions[user].publish.allow
          .filter((subject) => subject.startsWith('$JS.API.') || subject.startsWith('hp.api.'))
          .map((subject) => subject.replace(/\*$/, 'work-0123').replace(/>$/, 'list'))
          .flatMap((subject): readonly (readonly [string, string])[] =>
            subject.includes('.MSG.NEXT.')
              ? [[subject, '{"batch":1,"no_wait":true}']]
              : /\.(DIRECT|MSG)\.GET\./.test(subject)
                ? [
                    [subject, '{"last_by_subj":"hp.>"}'],
                    [subject, '{"seq":1}'],
                  ]
                : [[subject, '{}']],
          );
      const targets: readonly string[] = [
        'hp.cmd.effect.run.default',
        'hp.cmd.effect.cancel.default',
        'hp.cmd.approval.request',
        'hp.cmd.task.recover',
        'hp.cmd.task.submit',
        'hp.in.task.submit',
        'hp.cmd.recovery.assess',
        'hp.evt.task.completed.t-1',
        'hp.evt.approval.resolved.a-1',
        'hp.evt.effect.applied.e-1',
        'hp.evt.recovery.circuit_opened.c-1',
        'hp.work.0123',
        'hp.log.t-1.build',
        ...SERVICES.map((service) => `hp.api.${service}.forged`),
        ...natsUsers.map((user) => `_INBOX_${user}.forged`),
        ...streams.flatMap(({ name }) =>
          ['PURGE', 'DELETE', 'UPDATE', 'MSG.DELETE'].map((verb) => `$JS.API.STREAM.${verb}.${name}`),
        ),
        ...consumers.map(({ stream, name }) => `$JS.API.CONSUMER.DELETE.${stream}.${name}`),
      ];
      const permits = (user: NatsUser, subject: string) =>
        permissions[user].publish.allow.some((pattern) => overlap(pattern, subject));

      /** Everything that a forged message could change, with what the users have received. */
      const lookAt = async (heard: readonly string[]) => ({
        streams: await Promise.all(
          streams.map(async ({ name }) => {
            const { created, state } = await manager.streams.info(name);
            return { name, created, last: state.last_seq, messages: state.messages };
          }),
        ),
        consumers: await Promise.all(
          consumers.map(async ({ stream, name }) => (await manager.consumers.info(stream, name)).created),
        ),
        heard: [...heard],
      });

      /** The subjects that arrive in other accounts than that of the attacker. */
      const listenTo = (attacker: NatsUser) => {
        const heard: string[] = [];
        const subscriptions = natsUsers
          .filter((user) => user !== attacker)
          .flatMap((user) =>
            [
              `_INBOX_${user}.forged`,
              ...SERVICES.filter((service) => service === user).map((service) => `hp.api.${service}.forged`),
            ].map((subject) =>
              connections[user].subscribe(subject, {
                callback: (_error, message) => void heard.push(`${user} ${message.subject}`),
              }),
            ),
          );
        return { heard, stop: () => subscriptions.forEach((each) => each.unsubscribe()) };
      };

      const fill = async () => {
        const say = (user: NatsUser, subject: string) => jetstream(connections[user]).publish(subject, '{}');
        for (let i = 0; i < 3; i += 1) {
          for (const [user, subject] of Object.values(samples)) await say(user, subject);
          await say('orchestrator', 'hp.work.0123');
          await say('executor', 'hp.log.t-1.build');
        }
      };

      const tryAll = async (user: NatsUser, aims: readonly string[]): Promise<number> => {
        const requests = requestsOf(user);
        for (const [subject, body] of requests)
          for (const reply of aims) connections[user].publish(subject, body, { reply });
        await connections[user].flush();
        // Requests of the same kinds are answered after all of those.
        const fence = connections[user].subscribe(`_INBOX_${user}.fence`, { max: 1 });
        connections[user].publish('$JS.API.INFO', '', { reply: `_INBOX_${user}.fence` });
        await connections[user].flush();
        fence.unsubscribe();
        await Promise.all(natsUsers.map((each) => connections[each].flush()));
        return requests.length * aims.length;
      };

      test.each(natsUsers.filter((user) => ACCOUNTS[user] !== CORE))(
        'gives %s nothing that it may not publish',
        { timeout: 60_000 },
        async (user) => {
          await fill();
          const aims = targets.filter(
            (subject) => !permits(user, subject) && subject !== `_INBOX_${user}.forged`,
          );
          const { heard, stop } = listenTo(user);
          await Promise.all(natsUsers.map((each) => connections[each].flush()));
          const before = await lookAt(heard);
          const tried = await tryAll(user, aims);
          expect(tried).toBeGreaterThan(user === 'worker' ? 50 : 100);
          expect(await lookAt(heard)).toEqual(before);
          stop();
        },
      );

      test('reaches every stream from the account of the streams, so that no other user is in it', async () => {
        const before = (await manager.streams.info('HP_EVT')).state.last_seq;
        await fill();
        const filled = (await manager.streams.info('HP_EVT')).state.last_seq;
        expect(filled).toBeGreaterThan(before);
        connections.orchestrator.publish('$JS.API.CONSUMER.MSG.NEXT.HP_CMD.orchestrator', '{"batch":1}', {
          reply: 'hp.evt.effect.applied.forged',
        });
        await poll(
          async () => ((await manager.streams.info('HP_EVT')).state.last_seq > filled ? true : undefined),
          { timeoutMs: 5_000, what: 'the forged event is stored' },
        );
      });
    });
  });
});
