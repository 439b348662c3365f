import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
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
import { connect, PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { generateCredentials } from '../credentials/generate.ts';
import { natsUsers, services } from '../credentials/layout.ts';
import type { NatsUser } from '../credentials/layout.ts';
import { startNats } from '../local/nats/nats.ts';
import type { NatsServer } from '../local/nats/nats.ts';
import { findNats, natsSearchOf } from '../local/nats/nats-program.ts';
import type { NatsProgram } from '../local/nats/nats-program.ts';
import { poll } from '../local/poll.ts';
import { choosePorts } from '../local/ports.ts';
import { silent } from '../local/progress.ts';
import { recordInTurn, recordOf } from '../local/record.ts';
import { connectAs } from './connect.ts';

const search = natsSearchOf(process.env);

const attempt = async (program: () => Promise<NatsProgram>) => {
  try {
    return await program();
  } catch {
    return undefined;
  }
};

// The servers of this machine or its distribution, and the current server if Docker is available.
const local = await attempt(() => findNats({ ...search, docker: false }, silent));
const nowhere = join(tmpdir(), 'holdpoint-no-cache');
const current = await attempt(() =>
  findNats({ ...search, path: '', cacheDir: nowhere, platform: 'none' }, silent),
);
if (local === undefined && current === undefined) throw new Error('there is no nats-server to test with');
// Supported from 2.14 on, and the default from 2.16 on.
const withV2 = [current, local].find(
  (program) => program !== undefined && program.version.major === 2 && program.version.minor >= 14,
);
const v2Acks = '\nfeature_flags { js_ack_fc_v2: true }\n';

const servers: readonly (readonly [string, NatsProgram | undefined, string])[] = [
  [local?.origin ?? 'a server of this machine', local, ''],
  [current?.origin ?? 'the current server', current, ''],
  ['a server that acknowledges in the second form', withV2, v2Acks],
];

/** One message for each consumer, with its sender. A new consumer needs one too. */
const samples: Readonly<Record<string, readonly [NatsUser, string]>> = {
  orchestrator: ['operator', 'hp.cmd.task.submit'],
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

describe.each(servers)('on %s', (_origin, program, extraConfig) => {
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
      ...services.map((service) => [`hp.dlq.${service}`, [service]] as const),
      ...services.map((service) => [`hp.dlq.${service}.resolved`, [service]] as const),
      ...services.map((service) => [`hp.api.${service}.x`, ['operator']] as const),
      ['$JS.API.STREAM.CREATE.OTHER', []],
      ['$SYS.REQ.SERVER.PING', []],
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
      'only its service reads the consumer %s, and no user changes it',
      async (_name, { stream, name, service }) => {
        expect(await publishersOf(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`)).toEqual([service]);
        expect(await publishersOf(`$JS.ACK.${stream}.${name}.9.9.9.1700000000000000000.0`)).toEqual([
          service,
        ]);
        for (const verb of ['DELETE', 'DURABLE.CREATE', 'CREATE']) {
          expect([verb, await publishersOf(`$JS.API.CONSUMER.${verb}.${stream}.${name}`)]).toEqual([
            verb,
            [],
          ]);
        }
      },
    );

    test.each(services.map((service) => [service] as const))(
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

    test('no request makes a service publish on a forbidden subject', async () => {
      const service = await new Svcm(connections.approvals).add({ name: 'approvals', version: '1.0.0' });
      service.addEndpoint('echo', {
        subject: 'hp.api.approvals.echo',
        handler: (_error, message) => void message.respond('here'),
      });
      await connections.approvals.flush();
      expect(
        (await connections.operator.request('hp.api.approvals.echo', '', { timeout: 5_000 })).string(),
      ).toBe('here');

      const before = (await manager.streams.info('HP_EVT')).state.messages;
      violations.approvals.length = 0;
      connections.operator.publish('hp.api.approvals.echo', '', { reply: 'hp.evt.task.completed.t-1' });
      const [violation] = await poll(
        async () => (violations.approvals.length > 0 ? violations.approvals : undefined),
        {
          timeoutMs: 5_000,
          what: 'the answer is refused',
        },
      );
      expect(violation?.subject).toBe('hp.evt.task.completed.t-1');
      expect((await manager.streams.info('HP_EVT')).state.messages).toBe(before);
      await service.stop();
    });

    test('operators discover the services', async () => {
      const service = await new Svcm(connections.recovery).add({ name: 'recovery', version: '1.0.0' });
      await connections.recovery.flush();
      for (const user of ['operator', 'monitor'] as const) {
        const names: string[] = [];
        for await (const { name } of await new Svcm(connections[user])
          .client({ strategy: 'count', maxWait: 2_000, maxMessages: 1 })
          .ping())
          names.push(name);
        expect(names).toEqual(['recovery']);
      }
      await service.stop();
    });

    test('the operator lists streams and consumers and reads events, but neither commands nor decisions', async () => {
      const asOperator = await jetstreamManager(connections.operator);
      expect((await asOperator.streams.list().next()).map(({ config }) => config.name).toSorted()).toEqual(
        streams.map(({ name }) => name).toSorted(),
      );
      expect((await asOperator.consumers.list('HP_CMD').next()).length).toBe(
        consumers.filter(({ stream }) => stream === 'HP_CMD').length,
      );
      connections.orchestrator.publish('hp.evt.task.submitted.t-9', '{}');
      await connections.orchestrator.flush();
      const { state } = await asOperator.streams.info('HP_EVT');
      expect((await asOperator.streams.getMessage('HP_EVT', { seq: state.last_seq }))?.subject).toBe(
        'hp.evt.task.submitted.t-9',
      );

      // The requests of `nats stream view`: its own consumer, fetch, acknowledge, delete.
      await asOperator.consumers.add('HP_EVT', {
        durable_name: 'stream_pager_1',
        ack_policy: AckPolicy.Explicit,
      });
      const pager = await jetstream(connections.operator).consumers.get('HP_EVT', 'stream_pager_1');
      expect(await (await pager.next({ expires: 5_000 }))?.ackAck()).toBe(true);
      expect(await asOperator.consumers.delete('HP_EVT', 'stream_pager_1')).toBe(true);

      // A client that replays events uses an ordered consumer.
      const replay = await jetstream(connections.operator).consumers.get('HP_EVT', {
        filter_subjects: 'hp.evt.task.>',
      });
      expect((await replay.next({ expires: 5_000 }))?.subject).toMatch(/^hp\.evt\.task\./);

      await expect(asOperator.streams.getMessage('HP_CMD', { seq: 1 })).rejects.toThrow(/permission/i);
      await expect(
        asOperator.consumers.add('HP_CMD', { durable_name: 'mine', ack_policy: AckPolicy.None }),
      ).rejects.toThrow(/permission/i);
    });

    test('the operator watches everything but requests', async () => {
      const heard: string[] = [];
      const watch = connections.operator.subscribe('hp.>', {
        callback: (_error, { subject }) => void heard.push(subject),
      });
      await connections.operator.flush();
      for (const subject of ['hp.api.approvals.x', 'hp.cmd.task.submit'])
        connections.operator.publish(subject, '{}');
      await poll(async () => (heard.includes('hp.cmd.task.submit') ? true : undefined), {
        timeoutMs: 5_000,
        what: 'the submission is heard',
      });
      expect(heard).toEqual(['hp.cmd.task.submit']);
      watch.unsubscribe();
    });
  });
});
