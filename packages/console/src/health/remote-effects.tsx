import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { ClaimantView } from '@holdpoint/contracts/effect/remote';
import { sourceText } from '@holdpoint/contracts/approval/facts-text';
import { remoteLabelOf } from '@holdpoint/contracts/effect/remote-name';
import { useEffect } from 'preact/hooks';
import { Badge, Busy, Empty, Problem, Section, When } from '../parts/bits.tsx';
import { Long, Safe } from '../parts/safe.tsx';
import { everyPage } from '../parts/every-page.ts';
import { useLoad } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { KINDS } from '../tasks/labels.ts';
import { span } from '../text/time.ts';
import { claimantsOf, claimantWord } from './remote-view.ts';

const LOOK_EVERY_MS = 5_000;
const PAGE = 500;

const schemasText = (
  input: RegisteredCapability['input'],
  output: RegisteredCapability['output'],
): string => {
  const shown = (label: string, schema: object): string =>
    `${label}\n${JSON.stringify(schema, undefined, 2)}`;
  return [shown('Arguments', input), ...(output === undefined ? [] : [shown('Outputs', output)])].join('\n');
};

const Capability = ({
  capability,
  claimants,
}: {
  readonly capability: RegisteredCapability;
  readonly claimants: readonly ClaimantView[];
}) => {
  const { name, title, description, effectClass, kind, risk, target, status } = capability;
  const { timeoutMs, input, output } = capability;
  const claiming = claimantsOf(name, claimants);
  return (
    <li class="card" data-capability={name}>
      <strong>
        <Safe text={title} />
      </strong>{' '}
      {status === 'withdrawn' ? (
        <Badge word={['Withdrawn', 'quiet']} />
      ) : (
        <Badge
          word={
            claiming.length === 0
              ? ['No program', 'warn']
              : [`${String(claiming.length)} ${claiming.length === 1 ? 'program' : 'programs'}`, 'good']
          }
        />
      )}
      <p class="dim">
        <code>{remoteLabelOf(name)}</code>
      </p>
      {description !== undefined && <Long text={description} block={false} characters={300} />}
      <p>
        {effectClass} · {KINDS[kind]}
        {risk !== undefined && ` · risk at least ${risk}`}
      </p>
      <p>
        Target <Safe text={target ?? `remote:${name}`} /> ·{' '}
        {timeoutMs === undefined ? 'no timeout' : `timeout ${span(timeoutMs)}`}
      </p>
      <details>
        <summary>Schemas</summary>
        <Long text={schemasText(input, output)} characters={4_000} />
      </details>
      <p class="dim">
        Registered by <Safe text={capability.registeredBy} />, <When at={capability.registeredAt} />
        {capability.withdrawnBy !== undefined && (
          <>
            {' '}
            · withdrawn by <Safe text={capability.withdrawnBy} />
          </>
        )}
      </p>
    </li>
  );
};

const Claimant = ({ view }: { readonly view: ClaimantView }) => {
  const { claimant, principal, token, from, uses, since, seenAt, holds } = view;
  return (
    <li data-claimant={claimant}>
      <p>
        <strong>
          <Safe text={claimant} />
        </strong>{' '}
        <Badge word={claimantWord(view)} />
      </p>
      <p class="dim">
        Token of <Safe text={principal} />
        {token !== undefined && (
          <>
            {' '}
            (<code>{token}</code>)
          </>
        )}{' '}
        {from !== undefined && (
          <>
            · from <Safe text={sourceText(from)} />{' '}
          </>
        )}
        · claims since <When at={since} /> · seen <When at={seenAt} />
      </p>
      <p>
        Claims <code>{uses.join(', ')}</code>
      </p>
      {holds.length > 0 && (
        <ul class="plain">
          {holds.map(({ id, epoch, uses: label, startedAt }) => (
            <li key={`${id} ${String(epoch)}`}>
              Holds <code>{id}</code>, start {epoch} of <code>{label}</code>, since <When at={startedAt} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
};

/** Registered capabilities, and the programs that claim their effects. */
export const RemoteEffects = () => {
  const { caller, me } = useSession();
  const capabilities = useLoad(
    (signal) =>
      everyPage(Infinity, (after) =>
        caller.ask('approvals', 'capability_list', { limit: PAGE, after }, { signal }),
      ),
    [],
  );
  const isShown = mayDo(me, 'tasks:read');
  const claimants = useLoad(
    async (signal) =>
      isShown
        ? everyPage(Infinity, (after) =>
            caller.ask('executor', 'claimants', { limit: PAGE, after }, { signal }),
          )
        : [],
    [isShown],
  );
  const [reloadOne, reloadOther] = [capabilities.reload, claimants.reload];
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState !== 'visible') return;
      reloadOne();
      reloadOther();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [reloadOne, reloadOther]);
  const { value, error } = capabilities;
  return (
    <>
      <Section title="Capabilities of programs" aside={value && String(value.length)}>
        {error !== undefined && <Problem text={error} retry={capabilities.reload} />}
        {value === undefined && error === undefined && <Busy />}
        {value?.length === 0 && (
          <Empty>
            None. Register one with <code>holdpoint capability register</code>.
          </Empty>
        )}
        <ul class="cards">
          {value?.map((capability) => (
            <Capability key={capability.name} capability={capability} claimants={claimants.value ?? []} />
          ))}
        </ul>
      </Section>
      <Section title="Programs that claim effects" aside={claimants.value && String(claimants.value.length)}>
        {claimants.error !== undefined && <Problem text={claimants.error} retry={claimants.reload} />}
        {claimants.value?.length === 0 && <Empty>No program claims effects.</Empty>}
        <ul class="plain">
          {claimants.value?.map((view) => (
            <Claimant key={view.x} view={view} />
          ))}
        </ul>
      </Section>
    </>
  );
};
