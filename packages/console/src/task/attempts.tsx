import type { AttemptView } from '@holdpoint/contracts/recovery/views';
import { Badge, When } from '../parts/bits.tsx';
import { Long, Safe } from '../parts/safe.tsx';
import { CLASSES, textFor, VERDICTS } from '../tasks/labels.ts';

const OUTCOMES = {
  succeeded: ['Succeeded', 'good'],
  failed: ['Failed', 'bad'],
  in_doubt: ['Unknown outcome', 'warn'],
} as const;

/** The attempts with their errors and verdicts. */
export const AttemptsTable = ({ attempts }: { readonly attempts: readonly AttemptView[] }) => (
  <ol class="attempts">
    {attempts.map((attempt) => (
      <li key={`${attempt.node} ${String(attempt.attempt)} ${String(attempt.session)}`}>
        <p>
          <strong>
            <Safe text={attempt.node} />, attempt {attempt.attempt}
          </strong>{' '}
          <Badge word={OUTCOMES[attempt.outcome]} />{' '}
          {attempt.class !== undefined && <Badge word={[textFor(CLASSES, attempt.class), 'quiet']} />}{' '}
          {attempt.at !== undefined && <When at={attempt.at} />}
        </p>
        {attempt.approach !== undefined && (
          <div>
            <span class="label">Approach</span>{' '}
            <Long text={attempt.approach} block={false} characters={600} />
          </div>
        )}
        {attempt.error !== undefined && (
          <div>
            <span class="label">Error</span>{' '}
            <Long text={attempt.error.message} block={false} characters={600} />{' '}
            <code class="dim">{attempt.error.code}</code>
          </div>
        )}
        {attempt.verdict !== undefined && (
          <div>
            <span class="label">Verdict</span> {textFor(VERDICTS, attempt.verdict.kind)}:{' '}
            <Safe text={attempt.verdict.reason} />
          </div>
        )}
        {attempt.files !== undefined && attempt.files.length > 0 && (
          <div>
            <span class="label">Files</span>{' '}
            <Long text={attempt.files.join(', ')} block={false} characters={400} />
          </div>
        )}
      </li>
    ))}
  </ol>
);
