import type { streams } from '@holdpoint/contracts/bus/streams';
import { useEffect, useState } from 'preact/hooks';
import { Badge, Busy, Empty, Problem, Section, When } from '../parts/bits.tsx';
import { Long, Safe } from '../parts/safe.tsx';
import { textOfError, useLoad } from '../parts/use-load.ts';
import { createKey, mayDo, useSession } from '../session/context.ts';
import { textFor } from '../tasks/labels.ts';
import { size } from '../text/time.ts';
import { RemoteEffects } from './remote-effects.tsx';
import { healthOf, type Letter, lettersOf } from './health-view.ts';

const LOOK_EVERY_MS = 5_000;

const DOES: Readonly<Record<string, string>> = {
  orchestrator: 'advances tasks from step to step',
  approvals: 'asks for approval, and serves this page',
  executor: 'executes approved effects',
  recovery: 'classifies failures and selects the next step',
};
const HOLDS: Readonly<Record<(typeof streams)[number]['name'], string>> = {
  HP_CMD: 'Commands to services',
  HP_IN: 'Commands from people',
  HP_EVT: 'Events',
  HP_WORK: 'Work for workers',
  HP_LOG: 'Live output',
};

const DeadLetter = ({ letter, onDone }: { readonly letter: Letter; readonly onDone: () => void }) => {
  const { caller, me, say } = useSession();
  const [confirming, setAsked] = useState<'retry' | 'drop'>();
  const [isBusy, setBusy] = useState(false);
  const send = async (verb: 'retry' | 'drop'): Promise<void> => {
    setBusy(true);
    try {
      await caller.send(`dlq/${verb}`, { id: letter.id }, { key: createKey() });
      say(verb === 'retry' ? 'Retried.' : 'Dropped.', 'good');
    } catch (error) {
      say(textOfError(error), 'bad');
    } finally {
      setBusy(false);
      setAsked(undefined);
      onDone();
    }
  };
  return (
    <li>
      <p>
        <strong>{letter.service}</strong> <Badge word={[letter.code, 'bad']} />{' '}
        {letter.at !== undefined && <When at={letter.at} />}{' '}
        <code class="dim">
          <Safe text={letter.subject} />
        </code>
      </p>
      <Long text={letter.reason} block={false} characters={400} />
      <Long text={letter.body} characters={400} lines={6} />
      {mayDo(me, 'operations:write') && (
        <div class="row">
          {confirming === undefined ? (
            <>
              <button type="button" onClick={() => setAsked('retry')}>
                Try again
              </button>
              <button type="button" class="stop" onClick={() => setAsked('drop')}>
                Drop
              </button>
            </>
          ) : (
            <>
              <button type="button" class="primary" disabled={isBusy} onClick={() => void send(confirming)}>
                Confirm: {confirming === 'retry' ? 'retry it' : 'drop it permanently'}
              </button>
              <button type="button" disabled={isBusy} onClick={() => setAsked(undefined)}>
                Back
              </button>
            </>
          )}
        </div>
      )}
    </li>
  );
};

const DeadLetters = () => {
  const { caller } = useSession();
  const { value, error, reload } = useLoad(
    async (signal) => lettersOf(await caller.send('dlq/list', { limit: 50 }, { signal })),
    [],
  );
  return (
    <Section title="Dead letters" aside={value && `${String(value.items.length)}${value.more ? '+' : ''}`}>
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value?.items.length === 0 && <Empty>None.</Empty>}
      <ul class="plain">
        {value?.items.map((letter) => (
          <DeadLetter key={letter.id} letter={letter} onDone={reload} />
        ))}
      </ul>
    </Section>
  );
};

export const HealthPage = () => {
  const { caller } = useSession();
  const { value, error, reload } = useLoad(
    async (signal) => healthOf(await caller.read('console/health', signal)),
    [],
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <div class="single">
      <h2 tabIndex={-1}>Health</h2>
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      <Section title="Services">
        <ul class="cards">
          {value?.services.map(({ name, up, replicas, latencyMs, detail, missing }) => (
            <li key={name} data-service={name} class={up ? 'card' : 'card down'}>
              <strong>{name}</strong> <Badge word={up ? ['Working', 'good'] : ['No answer', 'bad']} />
              <p class="dim">{DOES[name]}</p>
              <p>
                {replicas !== undefined && `${String(replicas)} ${replicas === 1 ? 'replica' : 'replicas'}`}
                {latencyMs !== undefined && ` · answered in ${String(Math.round(latencyMs))} ms`}
              </p>
              {missing.length > 0 && (
                <p class="warn">
                  Missing: <Safe text={missing.join(', ')} />
                </p>
              )}
              {detail !== undefined && <Long text={detail} block={false} characters={300} />}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Queues">
        <div class="wide-table" tabIndex={0} role="group" aria-label="Queues">
          <table>
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col">Messages kept</th>
                <th scope="col">Size</th>
                <th scope="col">Backlog by service</th>
              </tr>
            </thead>
            <tbody>
              {value?.streams.map(({ name, description, messages, bytes, consumers }) => (
                <tr key={name}>
                  <th scope="row" title={description}>
                    {textFor(HOLDS, name)}
                  </th>
                  <td>{messages?.toLocaleString() ?? '?'}</td>
                  <td>{bytes === undefined ? '?' : size(bytes)}</td>
                  <td>
                    {consumers.length === 0
                      ? '–'
                      : consumers.map((consumer) => (
                          <div key={consumer.name}>
                            {consumer.name}: {consumer.pending.toLocaleString()}
                            {consumer.unacknowledged > 0 &&
                              `, ${consumer.unacknowledged.toLocaleString()} in progress`}
                          </div>
                        ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Section>
      <RemoteEffects />
      <DeadLetters />
    </div>
  );
};
