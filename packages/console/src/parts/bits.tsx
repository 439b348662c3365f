import type { ComponentChildren } from 'preact';
import type { Word } from '../tasks/labels.ts';
import { instant } from '../text/time.ts';

/** A state with a colour. */
export const Badge = ({ word: [text, tone] }: { readonly word: Word }) => (
  <span class={`badge ${tone}`}>{text}</span>
);

/** A time, with the full form on hover. */
export const When = ({ at }: { readonly at: number }) => (
  <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
    {instant(at)}
  </time>
);

export const Problem = ({
  text,
  retry,
}: {
  readonly text: string;
  readonly retry?: (() => void) | undefined;
}) => (
  <div class="problem" role="alert">
    <span>{text}</span>
    {retry && (
      <button type="button" onClick={retry}>
        Try again
      </button>
    )}
  </div>
);

export const Section = ({
  title,
  children,
  open = true,
  aside,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly open?: boolean;
  readonly aside?: ComponentChildren;
}) => (
  <details class="section" open={open}>
    <summary>
      <h3>{title}</h3>
      {aside !== undefined && <span class="aside">{aside}</span>}
    </summary>
    {children}
  </details>
);

/** A list of names and values. Empty values are omitted. */
export const Facts = ({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {rows
      .filter(([, value]) => value !== undefined && value !== '' && value !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

export const Empty = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="empty">{children}</p>
);

export const Busy = () => (
  <p class="loading" role="status">
    Loading …
  </p>
);
