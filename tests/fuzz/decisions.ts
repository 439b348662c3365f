import assert from 'node:assert/strict';
import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import { commands } from '@holdpoint/contracts/catalog/commands';
import { traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { CHANGED, TaskChanged } from '@holdpoint/contracts/task/changed';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { WorkOrder } from '@holdpoint/contracts/program/work';
import { AGGREGATES, type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { createBatch, eventMessage, type Loaded } from '@holdpoint/runtime/engine/batch';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import { deadLetterOf } from '@holdpoint/runtime/engine/dead-letter';
import { parseCommand, parseFact, parseJson, type Routed } from '@holdpoint/runtime/engine/inbound';
import { type Addressed, checkKind, kindNamed, type Kinds } from '@holdpoint/runtime/engine/kinds';
import { wireHeaders } from '@holdpoint/runtime/bus/headers';
import type { BatchWrite, WireMessage } from '@holdpoint/runtime/engine/ports';
import { writeParts } from '@holdpoint/runtime/store/encode';
import fc from 'fast-check';
import { bodyFor } from './hostile/body.ts';
import { nastyString } from './hostile/strings.ts';
import { casesFor, sometimesLinked, validMessage } from './messages.ts';
import { isStorable, keepsErrorSmall, keepsPrototypesClean, refusalOf, sameJson } from './promises.ts';
import { type AnyTarget, target } from './target.ts';
import { type Bytes, bytesOf } from './text.ts';

/** A message on the bus, and the state of its aggregate. */
type Input = {
  readonly consumer: string;
  readonly subject: string;
  readonly situation: string;
  readonly trace: string | undefined;
  readonly body: Bytes;
  /** The identity assertion in its header. */
  readonly assertion?: string | undefined;
};

/** The time of every decision. */
export const NOW = 1_000_001;

const serviceOf = (aggregate: string | undefined): ServiceName | undefined =>
  SERVICES.find((service) => AGGREGATES[service] === aggregate);

/** The receiver must accept every sent message. */
export const checkReceivable = ({ subject, body }: Pick<WireMessage, 'subject' | 'body'>): void => {
  const [, kind, aggregate] = subject.split('.');
  if (kind === 'work') return void WorkOrder.parse(parseJson(Buffer.from(body)));
  const service = serviceOf(aggregate);
  if (service === undefined) throw new Error(`nobody has ${subject}`);
  const data = parseJson(Buffer.from(body));
  if (kind === 'cmd')
    assert.ok(
      Object.keys(commands[service]).includes(
        (parseCommand(service, subject, data) as { readonly kind: string }).kind,
      ),
    );
  else if (subject.split('.')[3] === CHANGED) assert.ok(sameJson(TaskChanged.parse(data), data));
  else assert.ok(sameJson(parseFact(service, subject, data), data));
};

const checkWritable = (write: BatchWrite): void => {
  for (const parameter of writeParts(write).flatMap(({ values }) => values))
    if (typeof parameter === 'string') assert.ok(isStorable(JSON.parse(parameter)));
  for (const { body } of write.events) assert.ok(isStorable(JSON.parse(body)));
  for (const { dueAt } of write.timersSet) assert.ok(Number.isSafeInteger(dueAt));
};

const checkAnswer = (answer: { readonly ok: unknown } | { readonly error: ErrorBody } | undefined): void => {
  if (answer !== undefined && 'error' in answer) keepsErrorSmall(answer.error);
};

/** Every dead letter can be stored and read. */
const checkBuried = (service: ServiceName, { subject, trace, body }: Input, reason: ErrorBody): void => {
  const letter = deadLetterOf(
    service,
    {
      subject,
      headers: { 'ce-id': trace ?? 'i', 'ce-\0': 'x', authorization: 'Bearer x', traceparent: trace ?? '' },
      data: bytesOf(body),
      deliveries: 1,
      identity: subject,
      at: NOW,
    },
    reason,
  );
  assert.ok(letter.body.length <= PAYLOAD_MAX_BYTES);
  const stored: unknown = JSON.parse(JSON.stringify(letter.letter));
  assert.ok(isStorable(stored));
  assert.ok(!Object.hasOwn(DeadLetter.omit({ body: true }).parse(stored).headers, 'authorization'));
};

type Situations = Readonly<Record<string, Loaded>>;
type AnyEvent = { readonly type: string };
type Logic<To extends Addressed, Event extends AnyEvent, Work> = Pick<
  ServiceLogic<To, Event, Work>,
  'service' | 'kinds' | 'inbound'
>;

/** Decides a message like the engine, and checks everything that would be stored and sent. */
export const decideFully = (
  { service, kinds: all }: { readonly service: ServiceName; readonly kinds: object },
  loaded: Loaded,
  to: Addressed,
  trace: string | undefined,
): string => {
  const kinds = all as Kinds<AnyEvent, unknown>;
  const isNew = loaded.version === 0;
  const kind = isNew ? to.kind : loaded.kind;
  try {
    checkKind(kinds, to, kind);
  } catch {
    return 'another kind';
  }
  const { decider, publishedAs } = kindNamed(kinds, kind);
  const batch = createBatch(service, kinds, { now: NOW }, () =>
    isNew ? { kind, version: 0, state: decider.initial } : loaded,
  );
  const made = batch.decide(to, to.message);
  batch.apply(to, made, traceOf(trace));
  const write = batch.write([]);
  checkWritable(write);
  checkAnswer(made.answer);
  // Internal events have no message, but an evolve of a later release and every reader of the history accept them.
  for (const { type, aggregate, body } of write.events)
    checkReceivable({ subject: subjects.event(publishedAs, type, aggregate), body });
  const published = write.announced.map((event) => eventMessage(service, publishedAs, event));
  for (const sent of [...published, ...write.outbox]) {
    checkReceivable(sent);
    wireHeaders(sent.headers);
  }
  // The bus may deliver it again at any time.
  assert.deepEqual(batch.decide(to, to.message).events, []);
  if (made.answer !== undefined && 'error' in made.answer) return made.answer.error.code;
  return made.events.length === 0 && made.timers.length === 0 ? 'nothing' : 'decided';
};

const handle = <To extends Addressed, Event extends AnyEvent, Work>(
  logic: Logic<To, Event, Work>,
  situations: Situations,
  input: Input,
): string => {
  const { consumer, subject, situation, trace, body, assertion } = input;
  const inlet = logic.inbound.find((each) => each.consumer.name === consumer);
  const loaded = situations[situation];
  if (inlet === undefined || loaded === undefined) throw new Error(`there is no ${consumer} or ${situation}`);
  if (inlet.wants?.(subject) === false) return 'not wanted';
  let routed: Routed<To> | undefined;
  try {
    routed = inlet.decode(subject, parseJson(bytesOf(body)), {
      identity: `${subject} ${trace ?? ''}`,
      arrived: { at: NOW, header: (name) => (name === IDENTITY_HEADER ? assertion : undefined) },
    });
  } catch (error) {
    const reason = refusalOf(error);
    checkBuried(logic.service, input, reason);
    return reason.code;
  } finally {
    keepsPrototypesClean();
  }
  if (routed === undefined) return 'not for us';
  if (routed.defer === true) return 'deferred';
  const outcome = decideFully(logic, loaded, routed, trace);
  routed.onDone?.();
  return outcome;
};

/** Subjects near a filter that name no command or event, or name one oddly. */
const oddSubject = (subject: string): fc.Arbitrary<string> => {
  const tokens = subject.split('.');
  return fc
    .tuple(fc.nat(tokens.length), nastyString)
    .map(([at, put]) => tokens.map((token, i) => (i === at ? put : token)).join('.'));
};

const TRACES = [
  '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'a\nb',
  'a\0b',
  'x'.repeat(10_000),
];

/** The consumer of a message, and how to match a message to a situation. */
export type Inlet = {
  readonly consumer: string;
  readonly subject: string;
  readonly link: (value: object, situation: string) => object;
  /** Default: every situation. */
  readonly situations?: readonly string[];
  /** Default: none. */
  readonly assertions?: readonly (string | undefined)[];
};

/** A message has one case, or several that differ after a space. */
const messageOf = (name: string): string => name.split(' ')[0] ?? name;

/** Messages to a service in every state of their aggregate. Each is decided or refused with a code. */
export const decisionTarget = <To extends Addressed, Event extends AnyEvent, Work>(
  name: string,
  logic: Logic<To, Event, Work>,
  situations: Situations,
  inlets: Readonly<Record<string, Inlet>>,
): AnyTarget =>
  target<Input>({
    name,
    runs: 80,
    reaches: ['decided', 'CONTRACT_INVALID', 'CONTRACT_NOT_JSON'],
    cases: casesFor(Object.keys(inlets), (name) => {
      const inlet = inlets[name];
      if (inlet === undefined) throw new Error(`no inlet for ${name}`);
      const { consumer, subject, link, assertions = [undefined] } = inlet;
      const values = validMessage(messageOf(name));
      return fc.constantFrom(...(inlet.situations ?? Object.keys(situations))).chain((situation) =>
        fc.record({
          consumer: fc.constant(consumer),
          subject: fc.oneof(
            { weight: 9, arbitrary: fc.constant(subject) },
            { weight: 1, arbitrary: oddSubject(subject) },
          ),
          situation: fc.constant(situation),
          trace: fc.option(fc.constantFrom(...TRACES), { nil: undefined }),
          body: bodyFor(sometimesLinked(values, (value) => link(value, situation))),
          assertion: fc.constantFrom(...assertions),
        }),
      );
    }),
    check: (input) => handle(logic, situations, input),
  });
