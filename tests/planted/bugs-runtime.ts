import type { Bug } from './bug.ts';
import {
  announced,
  batch,
  cache,
  crashPoints,
  dispatch,
  engine,
  engineFailures,
  engineOutbox,
  engineRest,
  enginePostgres,
  engineReplicas,
  engineTimers,
  enrolment,
  forgedOrder,
  host,
  intake,
  objectStore,
  overlap,
  ownership,
  positions,
  preparation,
  publisher,
  retention,
  busSenders,
  lanes,
  sealFormat,
  seals,
  FIRST_SEEDS,
  SEEDS,
  store,
  trustedKeys,
  uses,
  examineBus,
  existingNats,
  natsLogin,
  oddMessages,
} from './tests.ts';

const KILLED = crashPoints(
  'a submission that the bus accepted becomes a task despite kills of the orchestrator at every point',
);

/** The order of lock, decision, commit, publish and acknowledgement, and the retention of records. */
export const RUNTIME_BUGS: readonly Bug[] = [
  {
    name: 'the fence of a commit does not ask who owns the service',
    file: 'packages/runtime/src/ownership/lease-store.ts',
    find: `WHERE one AND owner = $1 AND epoch = $2 FOR KEY SHARE`,
    replace: `WHERE one AND $1::text <> '' AND $2::bigint IS NOT NULL FOR KEY SHARE`,
    caughtBy: [
      ownership('a commit of an earlier owner is fenced and writes nothing'),
      ownership('a process that owns nothing commits nothing'),
    ],
  },
  {
    name: 'an owner is known by its epoch alone',
    file: 'packages/runtime/src/ownership/lease-store.ts',
    find: `WHERE one AND owner = $1 AND epoch = $2 FOR KEY SHARE`,
    replace: `WHERE one AND $1::text <> '' AND epoch = $2 FOR KEY SHARE`,
    caughtBy: [
      ownership('of two owners with the same epoch after a restore, only the one in the table commits'),
    ],
  },
  {
    name: 'a message overtakes the preparation of an earlier one to its aggregate',
    file: 'packages/runtime/src/host/preparation.ts',
    find: `prepare !== undefined || queue.some(`,
    replace: `prepare !== undefined && queue.every(`,
    caughtBy: [preparation('the messages of an aggregate keep their order')],
  },
  {
    name: 'an event is published before its commit',
    file: 'packages/runtime/src/host/host.ts',
    find: `      pass('before_commit');`,
    replace: `      pass('before_commit');
      parts.forEach(({ member }, index) => {
        const write = writes[index];
        if (write !== undefined) member.publish('early', { events: write.announced, messages: write.outbox });
      });`,
    caughtBy: [SEEDS, engine('before the commit nothing is answered or published, and no work starts')],
  },
  {
    name: 'a command is answered before its commit',
    file: 'packages/runtime/src/host/joint-transaction.ts',
    find: `      after.push(() => item.committed(answer));`,
    replace: `      item.committed(answer);`,
    caughtBy: [SEEDS, engine('before the commit nothing is answered or published, and no work starts')],
  },
  {
    name: 'an effect starts before its intent is committed',
    file: 'packages/runtime/src/host/session.ts',
    find: `after.push(() => perform(work, trace, task));`,
    replace: `perform(work, trace, task);`,
    caughtBy: [SEEDS, engine('before the commit nothing is answered or published, and no work starts')],
  },
  {
    name: 'a timer is deleted before its message is handled',
    file: 'packages/runtime/src/host/host.ts',
    find: `    const { transaction, due } = await member.store.lockDue(DUE_TIMERS_MAX);
`,
    replace: `    const { transaction: early, due } = await member.store.lockDue(DUE_TIMERS_MAX);
    const nothing = { events: [], announced: [], outbox: [], outboxConfirmed: [], snapshots: [], heads: [], timersSet: [] };
    await early.commit({ ...nothing, timersCleared: due });
    const transaction = await member.store.lock([...new Set(due.map(({ aggregate }) => aggregate))].sort());
`,
    caughtBy: [SEEDS, engineTimers('the commit of its decision removes a timer')],
  },
  {
    name: 'an outbox row is deleted before its publish is confirmed',
    file: 'packages/runtime/src/host/member.ts',
    find: `      if (all) confirmed.push(rowId);
`,
    replace: `      confirmed.push(rowId);
      if (all) return;
`,
    caughtBy: [
      SEEDS,
      engineOutbox('an unconfirmed outbox row stays, and is published again under the same ids'),
      enginePostgres('an unconfirmed row is not removed by a later batch, a sweep or a stop'),
    ],
  },
  {
    name: 'a timer that a decision sets does not shorten the wait for the next look',
    file: 'packages/runtime/src/host/looks.ts',
    find: `      quietUntil = Math.min(quietUntil, now() + leftMs);
`,
    replace: `      quietUntil = Math.max(quietUntil, now() + leftMs);
`,
    caughtBy: [engineRest('a timer fires at the first tick after its time')],
  },
  {
    name: 'the process clock decides instead of the database clock',
    file: 'packages/runtime/src/host/session.ts',
    find: `    moment.now = Math.max(moment.now, part.now);`,
    replace: `    moment.now = Date.now();`,
    caughtBy: [SEEDS, uses('clock, chance, environment, acknowledging and publishing have their places')],
  },
  {
    name: 'a message on which the decider throws is acknowledged',
    file: 'packages/runtime/src/host/joint-transaction.ts',
    find: `      after.push(() => item.failed(toErrorBody(cause), cause));`,
    replace: `      after.push(() => item.committed(undefined));`,
    caughtBy: [
      engine('a message that cannot be handled does not block its batch'),
      enginePostgres('refused data of an undecodable message fails alone too'),
    ],
  },
  {
    name: 'a history that cannot be read holds up the messages of other aggregates',
    file: 'packages/runtime/src/host/session.ts',
    find: `        unreadable.set(id, error);`,
    replace: `        throw error;`,
    caughtBy: [
      engineFailures('%s fails the messages of its aggregate with a code, and no others'),
      engineFailures('the timers of its aggregate stay, and fire once it can be read'),
    ],
  },
  {
    name: 'a message between services counts as decided before the commit',
    file: 'packages/runtime/src/host/host.ts',
    find: `      const committing = commit(written);`,
    replace: `      joint.remember();
      const committing = commit(written);`,
    caughtBy: [host('a commit that fails for good leaves nothing, and remembers nothing')],
  },
  {
    name: 'two transactions decide on one aggregate at the same time',
    file: 'packages/runtime/src/host/under-way.ts',
    find: `(held.get(member)?.get(aggregate) ?? hold) === hold`,
    replace: `held.get(member) !== null && aggregate !== '' && hold !== null`,
    caughtBy: [
      overlap('the messages of an aggregate keep their order, and others do not wait for them'),
      overlap('a timer fires only after the process knows of the latest commit of its aggregate'),
      host('a message for an aggregate of a transaction under way goes over the bus'),
    ],
  },
  {
    name: 'an earlier transaction brings back a state from before a new connection',
    file: 'packages/runtime/src/host/session.ts',
    find: `if (cache.clearings() === clearings)`,
    replace: `if (cache.clearings() >= clearings)`,
    caughtBy: [overlap('a state from before a new connection is not remembered after it')],
  },
  {
    name: 'a service decides for another process that owns its neighbour',
    file: 'packages/runtime/src/host/local-delivery.ts',
    find: `      const local = to.isOwner() ? decoded`,
    replace: `      const local = true ? decoded`,
    caughtBy: [host('a message for a service that another process owns goes over the bus')],
  },
  {
    name: 'a cached state of another version is used',
    file: 'packages/runtime/src/host/cache.ts',
    find: `      return entry?.version === version ? entry : undefined;`,
    replace: `      return entry;`,
    caughtBy: [SEEDS, cache('a state is found under its version only')],
  },
  {
    name: 'a message is acknowledged before the commit',
    file: 'packages/runtime/src/engine/intake.ts',
    find: `    engine.accept(
      { ...routed, trace`,
    replace: `    delivery.ack();
    engine.accept(
      { ...routed, trace`,
    caughtBy: [SEEDS, intake('a message is acknowledged after its commit, and not before'), KILLED],
  },
  {
    name: 'a consumer ahead of its stream keeps its position',
    file: 'packages/runtime/src/bus/consumer-positions.ts',
    find: `Math.max(delivered, floor) > lastSeq;`,
    replace: `Math.max(delivered, floor) < 0 && lastSeq < 0;`,
    caughtBy: [positions('consumers are recreated when one has %s more than the stream has')],
  },
  {
    name: 'content is kept under any digest',
    file: 'packages/runtime/src/store/object-store.ts',
    find: `        if (hash.digest('hex') !== sha256) throw wrongDigest();`,
    replace: `        hash.digest('hex');`,
    caughtBy: [objectStore('content under the digest of other content is refused and leaves nothing')],
  },
  {
    name: 'a message is queued again while it waits for its decision',
    file: 'packages/runtime/src/bus/source.ts',
    find: `    if (underWay.get(streamSequence) === timestampNanos) return;
`,
    replace: '',
    caughtBy: [
      oddMessages('a message is taken once despite redeliveries, and again after a negative acknowledgement'),
    ],
  },
  {
    name: 'a duplicate counts as published',
    file: 'packages/runtime/src/bus/publisher.ts',
    find: `      if (fate !== 'duplicate') return settleOne(batch, fate === 'stored');`,
    replace: `      if (fate !== 'unknown') return settleOne(batch, true);
      if (batch.left > 0) return settleOne(batch, false);`,
    caughtBy: [
      publisher('a message whose id was taken goes out again under another id, and its batch waits for it'),
    ],
  },
  {
    name: 'a message is acknowledged before its dead letter is committed',
    file: 'packages/runtime/src/engine/intake.ts',
    find: `    engine.keepDeadLetter(letter, () => delivery.ack());`,
    replace: `    engine.keepDeadLetter(letter, () => undefined);
    delivery.ack();`,
    caughtBy: [intake('the dead letter of %s is committed before the acknowledgement')],
  },
  {
    name: 'a change of a task without a public event is not announced',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `kindNamed(kinds, event.kind).announcesChanges === true`,
    replace: `false`,
    caughtBy: [
      FIRST_SEEDS,
      announced('a batch announces public events, and an internal one that is the last of its task'),
    ],
  },
  {
    name: 'the bus carries internal events',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `  const internal = isInternal(service, event.type);`,
    replace: `  const internal = false;`,
    caughtBy: [
      FIRST_SEEDS,
      announced('an announced internal event becomes the message changed with version, phase and type'),
    ],
  },
  {
    name: 'a question on the bus is resent only after hours',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `sent.length > 0 && !sent.some((message) => outbox.has(message))`,
    replace: `sent.length > 0`,
    caughtBy: [
      batch('a question that %s'),
      batch('a question that its receiver refuses goes over the bus, and is resent soon'),
    ],
  },
  {
    name: 'a repeated publish has another message id',
    file: 'packages/runtime/src/engine/batch.ts',
    find: 'id: `${publishedAs}.${event.aggregate}.${String(event.version)}`,',
    replace: 'id: `${publishedAs}.${event.aggregate}.${String(event.version)}.${String(Math.random())}`,',
    caughtBy: [SEEDS, batch('an event always gives the same message')],
  },
  {
    name: 'a cursor runs over the outbox',
    file: 'packages/runtime/src/store/store.ts',
    find: `      return rows.map(outboxRowOf);`,
    replace: `      const reader = pool as Pool & { cursor?: number };
      const fresh = rows.filter(({ id }) => Number(id) > (reader.cursor ?? 0));
      reader.cursor = Math.max(reader.cursor ?? 0, ...fresh.map(({ id }) => Number(id)));
      return fresh.map(outboxRowOf);`,
    caughtBy: [store('an unconfirmed message comes again, even after younger ones')],
  },
  {
    name: 'shared content counts as stored before its commit',
    file: 'packages/runtime/src/store/transaction/transaction.ts',
    find: `    const [own, guarding] = await Promise.all([`,
    replace: `    for (const { digest } of contents) shared.add(digest);
    const [own, guarding] = await Promise.all([`,
    caughtBy: [store('a batch that fails leaves its shared content to the next one')],
  },
  {
    name: 'events name shared content that is not stored',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `    for (const content of contents) shared.set(content.digest, content);
`,
    replace: ``,
    caughtBy: [
      SEEDS,
      batch('a field that events share is stored once, and the events name it by its digest'),
    ],
  },
  {
    name: 'rows of lists stay when their aggregate leaves the list',
    file: 'packages/runtime/src/engine/batch.ts',
    find: `      if (after === undefined) unlisted.push(aggregate);
      else listed.push(`,
    replace: `      if (after !== undefined) listed.push(`,
    caughtBy: [
      FIRST_SEEDS,
      batch('an aggregate is listed when its reason changes, and leaves the list without one'),
    ],
  },
  {
    name: 'the write statement removes no rows of lists',
    file: 'packages/runtime/src/store/write-statement.ts',
    find: `\${list.name} WHERE id = ANY(\${next()}::text[]))`,
    replace: `\${list.name} WHERE false AND id = ANY(\${next()}::text[]))`,
    caughtBy: [store('rows come, stay and go with the commits of their aggregate')],
  },
  {
    name: 'aggregates are read without their lock',
    file: 'packages/runtime/src/store/statements.ts',
    find: `WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE)`,
    replace: `WHERE id = ANY($1::text[]) ORDER BY id)`,
    caughtBy: [store('a lock has one holder, and the next holder sees the commit of the previous one')],
  },
  {
    name: 'the clock is read before the wait for the lock',
    file: 'packages/runtime/src/store/write-statement.ts',
    find: `const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text';`,
    replace: `const CLOCK = '(extract(epoch FROM now()) * 1000)::bigint::text';`,
    caughtBy: [store('a transaction that waited for a lock sees a clock after the wait')],
  },
  {
    name: 'a version conflict is ignored',
    file: 'packages/runtime/src/store/write-statement.ts',
    find: `(SELECT count(*) FROM changed) = `,
    replace: `(SELECT count(*) FROM changed) <= `,
    caughtBy: [store('%s is a conflict that leaves nothing, with events and without')],
  },
  {
    name: 'a decision without a lock and without events compares no version',
    file: 'packages/runtime/src/store/transaction/transaction.ts',
    find: `    if (assumed === undefined) return [];
`,
    replace: `    if (assumed !== undefined) return [];
`,
    caughtBy: [store('%s is a conflict that leaves nothing, with events and without')],
  },
  {
    name: 'a repetition assumes the same states again',
    file: 'packages/runtime/src/host/host.ts',
    find: `const assumes = mayAssume && tries === 1;`,
    replace: `const assumes = mayAssume;`,
    caughtBy: [engineReplicas("two engines see each other's changes in spite of their caches")],
  },
  {
    name: 'a lost answer to COMMIT counts as a rollback',
    file: 'packages/runtime/src/store/transaction/transaction.ts',
    find: `        ended.reject(new CommitUnknown('no answer to COMMIT', { cause }));`,
    replace: `        ended.reject(cause);`,
    caughtBy: [
      enginePostgres('a commit without an answer is unknown and may have succeeded'),
      enginePostgres('a message whose commit has no answer %s is decided again without duplicates'),
    ],
  },
  {
    name: 'retention purges the records of an open task',
    file: 'packages/runtime/src/store/tables.ts',
    find: `     AND (t.finished_at IS NULL OR t.finished_at >= due`,
    replace: `     AND (t.finished_at >= due`,
    caughtBy: [retention('the effect and the approval of a task stay while it may still order them')],
  },
  {
    name: 'a message without a seal is believed',
    file: 'packages/runtime/src/engine/intake.ts',
    find: `    if (seal !== undefined && 'error' in seal)
      return`,
    replace: `    if (seal !== undefined && 'error' in seal && seal.error.code === 'SEAL_KEY_REVOKED')
      return`,
    caughtBy: [FIRST_SEEDS, intake('a message with a wrong seal becomes a dead letter and is never decoded')],
  },
  {
    name: 'the signature of a seal is not checked',
    file: 'packages/runtime/src/engine/seals.ts',
    find: `    if (!verifies(seal, root, key)) return false;`,
    replace: `    verifies(seal, root, key);`,
    caughtBy: [seals('a message that %s is refused')],
  },
  {
    name: 'a seal does not cover the subject',
    file: 'packages/contracts/src/bus/seal.ts',
    find: 'Buffer.from(`${subject}\\0${id}\\0`)',
    replace: 'Buffer.from(`${subject.slice(0, 7)}\\0${id}\\0`)',
    caughtBy: [sealFormat('text and bytes of a body have the same leaf')],
  },
  {
    name: 'a remembered node of a seal counts for other messages',
    file: 'packages/contracts/src/bus/seal.ts',
    find: `  if (known !== undefined && same(known.left, left) && same(known.right, right)) return known.node;`,
    replace: `  if (known !== undefined) return known.node;`,
    caughtBy: [
      sealFormat(
        'computed nodes are remembered, and change no root: neither of a genuine seal nor of a changed one',
      ),
    ],
  },
  {
    name: 'the events of circuits carry no seal',
    file: 'packages/contracts/src/bus/senders.ts',
    find: `  recovery: () => true,`,
    replace: `  recovery: () => false,`,
    caughtBy: [busSenders('every event that a consumer or a circuit reader takes carries a seal')],
  },
  {
    name: 'a message overtakes an earlier one of its aggregate in another lane',
    file: 'packages/runtime/src/host/lanes.ts',
    find: `      const place = places.get(aggregate) ?? { lane: wanted, count: 0 };`,
    replace: `      const place = { lane: wanted, count: places.get(aggregate)?.count ?? 0 };`,
    caughtBy: [lanes('a message waits behind an earlier one of its aggregate, in every lane')],
  },
  {
    name: 'a service may send the messages of another service',
    file: 'packages/runtime/src/engine/seals.ts',
    find: `    if (senderOf(subject) !== key.role)`,
    replace: `    if (senderOf(subject) === undefined)`,
    caughtBy: [seals('a message that %s is refused')],
  },
  {
    name: 'a revoked key still counts',
    file: 'packages/runtime/src/engine/seals.ts',
    find: `    if (key === 'revoked') return refused`,
    replace: `    if (key === 'revoked') return { key: seal.kid };
    if (key === 'revoked') return refused`,
    caughtBy: [seals('a message with a revoked key is refused, also after its root was verified')],
  },
  {
    name: 'an executor key vouches for other keys',
    file: 'packages/runtime/src/service/trusted-keys.ts',
    find: `      [...root.approvals, ...learnt.approvals],
      statements,`,
    replace: `      [...root.approvals, ...learnt.approvals, ...learnt.executors],
      statements,`,
    caughtBy: [trustedKeys('an executor key cannot vouch for another executor')],
  },
  {
    name: 'an unknown key counts as new at every redelivery',
    file: 'packages/runtime/src/service/trusted-keys.ts',
    find: `const FORGOTTEN_MS = 120_000;`,
    replace: `const FORGOTTEN_MS = 30_000;`,
    caughtBy: [trustedKeys('a token that comes again at the longest interval is refused')],
  },
  {
    name: 'after a start the messages of an executor that approvals has lost are refused at once',
    file: 'packages/runtime/src/service/trusted-keys.ts',
    find: ` || clock.now() - started < REJOINED_MS;`,
    replace: `;`,
    caughtBy: [
      trustedKeys(
        'after a start, messages of an executor whose key approvals has lost are deferred until it joins again',
      ),
    ],
  },
  {
    name: 'an executor enrols without the join secret',
    file: 'packages/contracts/src/approval/enrolment.ts',
    find: `    timingSafeEqual(given, wanted) &&`,
    replace: ``,
    caughtBy: [enrolment('a request with %s is refused')],
  },
  {
    name: 'a worker runs an order before the orchestrator confirms it',
    file: 'packages/sdk/src/activation/activation.ts',
    find: `    if (!isSamePhase(order, real)) {`,
    replace: `    if (!isSamePhase(order, real) && order.visit < 0) {`,
    caughtBy: [forgedOrder('an order for %s runs nothing and is handed back')],
  },
  {
    name: 'a busy version takes the last slot of another one',
    file: 'packages/sdk/src/worker/dispatch.ts',
    find: `    return slots.free() - others.length;`,
    replace: `    return slots.free() - others.length * 0;`,
    caughtBy: [dispatch('a failing version keeps its slot, and is pulled again later while others continue')],
  },
  {
    name: 'a login of another account becomes a service',
    file: 'packages/runtime/src/bus/examine-bus.ts',
    find: `  if (hasLogin) await checkUser(connection, user, inboxPrefix);`,
    replace: ``,
    caughtBy: [
      examineBus('a login %s does not become the service'),
      existingNats('a login of another account or user does not become a service'),
    ],
  },
  {
    name: 'a login that has expired is not refused',
    file: 'packages/contracts/src/bus/nats-login.ts',
    find: `end <= now)`,
    replace: `end < 0)`,
    caughtBy: [natsLogin('%s is refused with a code and without its content')],
  },
  {
    name: 'an executor sends messages whose seal no service can verify',
    file: 'packages/runtime/src/host/member.ts',
    find: `    if (!mayPublish()) return;
`,
    replace: ``,
    caughtBy: [
      engineOutbox('messages that receivers cannot verify yet wait in the outbox, also for the sweeper'),
    ],
  },
  {
    name: 'a renewed login file is not read again',
    file: 'packages/contracts/src/bus/nats-login.ts',
    find: `      current = loginIn(read());`,
    replace: ``,
    caughtBy: [natsLogin('a renewed file is used by the next connection')],
  },
];
