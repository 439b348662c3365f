import { useEffect, useRef, useState } from 'preact/hooks';
import { markOf } from '../audit/mark.ts';
import type { Verification } from '../audit/verify-log.ts';
import { Badge, Busy, Empty, Facts, Problem, Section, When } from '../parts/bits.tsx';
import { Safe } from '../parts/safe.tsx';
import { textOfError, useLoad } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';

type State =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly lines: number }
  | { readonly state: 'done'; readonly verified: Verification }
  | { readonly state: 'failed'; readonly text: string };

const SAID = ['by', 'requestedBy', 'outcome', 'decision', 'surface', 'rule', 'comment', 'digest'] as const;

/** The readable part of a line. */
const entryText = (entry: string): string => {
  try {
    const fields = JSON.parse(entry) as Readonly<Record<string, unknown>>;
    return SAID.flatMap((name) => {
      const value = fields[name];
      return typeof value === 'string' ? [`${name} ${name === 'digest' ? value.slice(0, 12) : value}`] : [];
    }).join(', ');
  } catch {
    // Shown as it is.
    return entry;
  }
};

const Report = ({ verified: { report } }: { readonly verified: Verification }) => (
  <div class={report.problemCount === 0 ? 'note done' : 'note refused'} role="status">
    {report.problemCount === 0 ? (
      <p>
        ✓ The log is intact: {report.lines.toLocaleString()} lines, each linked to the previous one;{' '}
        {report.anchors} signatures of the service, up to line {report.anchoredTo}.
      </p>
    ) : (
      <>
        <p>✗ The log is damaged: {report.problemCount} problems.</p>
        <ul>
          {report.problems.slice(0, 20).map(({ seq, fault, text }) => (
            <li key={`${String(seq)} ${fault}`}>
              line {seq}: <Safe text={text} />
            </li>
          ))}
        </ul>
      </>
    )}
  </div>
);

/**
 * The audit lines of a task's requests, and the verification of the log. Reloads with each version of the task.
 * `undefined` requests are not loaded yet.
 */
export const AuditTrail = ({
  approvals,
  version,
}: {
  readonly approvals: readonly string[] | undefined;
  readonly version: number;
}) => {
  const { caller, me } = useSession();
  const allowed = mayDo(me, 'audit:read');
  const [state, setState] = useState<State>({ state: 'idle' });
  const over = useRef<AbortController>(undefined);
  useEffect(() => () => over.current?.abort(), []);
  const { value, error, reload } = useLoad(
    async (signal) => {
      const found = await Promise.all(
        (allowed && approvals ? approvals : []).map((about) =>
          caller.ask('approvals', 'audit', { about, limit: 1_000 }, { signal }),
        ),
      );
      return found.flatMap(({ items }) => items).sort((a, b) => a.seq - b.seq);
    },
    [approvals, allowed],
    version,
  );
  const known = approvals && value;
  const verify = async (): Promise<void> => {
    over.current?.abort();
    const { signal } = (over.current = new AbortController());
    setState({ state: 'running', lines: 0 });
    try {
      const { verifyLog } = await import('../audit/verify-log.ts');
      const verified = await verifyLog(
        caller,
        new Set(approvals),
        (lines) => setState({ state: 'running', lines }),
        signal,
      );
      setState({ state: 'done', verified });
      // New lines may have arrived since.
      reload();
    } catch (failed) {
      if (!signal.aborted) setState({ state: 'failed', text: textOfError(failed) });
    }
  };
  const verified = state.state === 'done' ? state.verified : undefined;
  return (
    <Section title="Audit trail">
      {!allowed && <Empty>Your token cannot read the audit log.</Empty>}
      {error !== undefined && <Problem text={error} retry={reload} />}
      {allowed && known === undefined && error === undefined && <Busy />}
      {known !== undefined && allowed && (
        <>
          {known.length === 0 && <Empty>No requests yet.</Empty>}
          <ol class="audit">
            {known.map((line) => (
              <li key={line.seq}>
                <Facts
                  rows={[
                    [`Line ${String(line.seq)}`, <strong>{line.type.replaceAll('_', ' ')}</strong>],
                    ['Says', <Safe text={entryText(line.entry)} />],
                    ['When', <When at={line.at} />],
                    ['About', <code>{line.aggregate}</code>],
                  ]}
                />
                <Badge word={markOf(line, verified)} />
              </li>
            ))}
          </ol>
          <button type="button" onClick={() => void verify()} disabled={state.state === 'running'}>
            {state.state === 'running'
              ? `Verifying … ${state.lines.toLocaleString()} lines`
              : 'Verify the whole log'}
          </button>
          {state.state === 'failed' && <Problem text={state.text} />}
          {verified !== undefined && <Report verified={verified} />}
        </>
      )}
    </Section>
  );
};
