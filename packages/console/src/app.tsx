import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { mayDecide } from '@holdpoint/contracts/workflow/audience';
import { HealthPage } from './health/health-page.tsx';
import { InboxPage } from './inbox/inbox-page.tsx';
import { usePending } from './inbox/use-pending.ts';
import { createWatch, type WatchState } from './live/watch.ts';
import { useKeys } from './parts/use-keys.ts';
import { useAnnouncement } from './parts/use-announcement.ts';
import { Safe } from './parts/safe.tsx';
import { RecoveryPage } from './recovery/recovery-page.tsx';
import { createCaller, isExpired } from './session/call.ts';
import { mayDo, type Me, type Session, SessionContext } from './session/context.ts';
import { type Arrival, takeArrival } from './session/oidc.ts';
import { linkCodeIn, takeLinkCode } from './session/link.ts';
import { linkProblem, redeem, redeemLink, redeemProblem, SignIn, whoIs } from './session/sign-in.tsx';
import { notify } from './settings/notifications.ts';
import { SettingsPage } from './settings/settings-page.tsx';
import { hrefOf, type Page, type Route, routeOf } from './text/route.ts';
import { TasksPage } from './tasks/tasks-page.tsx';

/** Per tab, cleared when it closes. */
const TOKEN = 'holdpoint-token';
const EXPIRED = 'Your token expired or was revoked. Unconfirmed decisions were not made. Sign in again.';

const NAMES: Readonly<Record<Page, string>> = {
  inbox: 'Inbox',
  tasks: 'Tasks',
  recovery: 'Recovery',
  health: 'Health',
  settings: 'Settings',
};
const STATES: Readonly<Record<WatchState, string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: 'Connection lost, reconnecting …',
};

const KEYS: readonly (readonly [string, string])[] = [
  ['1 2 3 4 5', 'Inbox, Tasks, Recovery, Health, Settings'],
  ['j  k', 'next, previous'],
  ['n', 'new task'],
  ['/', 'search'],
  ['a  r  c', 'approve, reject, request changes: asks for a comment, Ctrl+Enter sends'],
  ['x', 'select for a bulk decision'],
  ['Esc', 'back'],
  ['?', 'this list'],
];

const PageOf = ({ page, rest }: Route) => {
  switch (page) {
    case 'inbox':
      return <InboxPage rest={rest} />;
    case 'tasks':
      return <TasksPage rest={rest} />;
    case 'recovery':
      return <RecoveryPage />;
    case 'health':
      return <HealthPage />;
    case 'settings':
      return <SettingsPage />;
  }
};

const Help = ({ onClose }: { readonly onClose: () => void }) => {
  const dialogue = useRef<HTMLDialogElement>(null);
  useEffect(() => dialogue.current?.showModal(), []);
  return (
    <dialog ref={dialogue} aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Keys</h2>
      <dl class="facts">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
};

const useRoute = (): Route => {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const turn = (): void => setRoute(routeOf(location.hash));
    addEventListener('hashchange', turn);
    // The page may have navigated before the listener existed.
    turn();
    return () => removeEventListener('hashchange', turn);
  }, []);
  return route;
};

const Signed = ({
  token,
  me,
  onOut,
}: {
  readonly token: string;
  readonly me: Me;
  readonly onOut: (notice?: string) => void;
}) => {
  const route = useRoute();
  const { announcements, say, tell } = useAnnouncement();
  const [isHelp, setHelp] = useState(false);
  const connected = useMemo<Omit<Session, 'pending'>>(() => {
    const onExpired = (): void => onOut(EXPIRED);
    const all = me.administrator || mayDo(me, 'audit:read');
    const watch = createWatch(token, { all, onExpired });
    return { caller: createCaller(token, onExpired), me, watch, say, signOut: () => onOut() };
  }, [token, me, onOut, say]);
  const [state, setState] = useState<WatchState>('connecting');
  useEffect(() => {
    const stop = connected.watch.onState(setState);
    setState(connected.watch.state());
    return () => {
      stop();
      connected.watch.stop();
    };
  }, [connected]);
  const pending = usePending(connected.caller, connected.watch);
  const session = useMemo<Session>(() => ({ ...connected, pending }), [connected, pending]);
  useEffect(
    () =>
      connected.watch.subscribe({
        gap: () => undefined,
        approval: (view, change) => {
          const { title, status, decidedBy } = view;
          // Decisions of this user are announced where they are made.
          if (change === 'resolved' && decidedBy !== me.name)
            tell(`${status.replace('_', ' ')} by ${decidedBy ?? 'nobody'}: ${title.slice(0, 80)}`);
          if (change !== 'requested') return;
          tell(`New request: ${title.slice(0, 80)}`);
          if (mayDecide(view, me)) notify(view);
        },
      }),
    [connected, me, tell],
  );
  const waiting = pending.items?.filter((view) => mayDecide(view, me)).length ?? 0;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${String(waiting)}) ` : ''}${NAMES[route.page]} · Holdpoint`;
  }, [route.page, waiting]);
  const turn = (page: Page) => (): void => {
    location.hash = hrefOf(page);
  };
  useKeys({
    '1': turn('inbox'),
    '2': turn('tasks'),
    '3': turn('recovery'),
    '4': turn('health'),
    '5': turn('settings'),
    '?': () => setHelp(true),
  });
  return (
    <SessionContext.Provider value={session}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>('main')?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <h1>Holdpoint</h1>
        <nav aria-label="Pages">
          {(Object.keys(NAMES) as Page[]).map((page) => (
            <a key={page} href={hrefOf(page)} aria-current={page === route.page ? 'page' : undefined}>
              {NAMES[page]}
            </a>
          ))}
        </nav>
        <span class={`live ${state}`} role="status">
          {STATES[state]}
        </span>
        <span class="who">
          <a href={hrefOf('settings')}>
            <Safe text={me.name} />
          </a>
          <button type="button" class="link" onClick={() => onOut()}>
            Sign out
          </button>
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        <PageOf {...route} />
      </main>
      <div class="said" role="status" aria-live="polite">
        {announcements.map(({ kind, text, tone }) => (
          <p key={kind} class={tone}>
            <Safe text={text} />
          </p>
        ))}
      </div>
      {isHelp && <Help onClose={() => setHelp(false)} />}
    </SessionContext.Provider>
  );
};

type State =
  | { readonly state: 'out'; readonly notice: string | undefined }
  | { readonly state: 'arriving'; readonly arrival: Extract<Arrival, { readonly kind: 'code' }> }
  | { readonly state: 'linking'; readonly code: string }
  /** With a link that is used only if the session of this tab has ended. */
  | { readonly state: 'asking'; readonly token: string; readonly code?: string | undefined }
  | { readonly state: 'in'; readonly token: string; readonly me: Me };

const withLink = (code: string): State => {
  const token = sessionStorage.getItem(TOKEN);
  // A link of another person must not end the session of this tab.
  return token === null ? { state: 'linking', code } : { state: 'asking', token, code };
};

const initial = (): State => {
  const code = takeLinkCode();
  if (code !== undefined) return withLink(code);
  const arrival = takeArrival();
  if (arrival?.kind === 'code') return { state: 'arriving', arrival };
  const token = sessionStorage.getItem(TOKEN);
  // A link must not end the session.
  return token === null ? { state: 'out', notice: arrival?.notice } : { state: 'asking', token };
};

export const App = () => {
  const [state, setState] = useState<State>(initial);
  const leave = useCallback((notice?: string): void => {
    sessionStorage.removeItem(TOKEN);
    setState({ state: 'out', notice });
  }, []);
  const arrival = state.state === 'arriving' ? state.arrival : undefined;
  useEffect(() => {
    if (arrival === undefined) return;
    redeem(arrival.code)
      .then((token) => {
        sessionStorage.setItem(TOKEN, token);
        setState({ state: 'asking', token });
      })
      .catch((error: unknown) => leave(redeemProblem(error, arrival.name)));
  }, [arrival, leave]);
  useEffect(() => {
    // A link that is opened in this tab changes only the fragment.
    const turn = (): void => {
      const code = linkCodeIn(location.hash) === undefined ? undefined : takeLinkCode();
      if (code !== undefined) setState(withLink(code));
    };
    addEventListener('hashchange', turn);
    return () => removeEventListener('hashchange', turn);
  }, []);
  const linking = state.state === 'linking' ? state.code : undefined;
  useEffect(() => {
    if (linking === undefined) return;
    redeemLink(linking)
      .then((token) => {
        sessionStorage.setItem(TOKEN, token);
        setState({ state: 'asking', token });
      })
      .catch((error: unknown) => leave(linkProblem(error)));
  }, [linking, leave]);
  const asking = state.state === 'asking' ? state.token : undefined;
  const spare = state.state === 'asking' ? state.code : undefined;
  const [problem, setProblem] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (asking === undefined) return;
    setProblem(false);
    whoIs(asking)
      .then((me) => setState({ state: 'in', token: asking, me }))
      .catch((error: unknown) => {
        if (!isExpired(error)) return setProblem(true);
        if (spare === undefined) return leave(EXPIRED);
        sessionStorage.removeItem(TOKEN);
        setState({ state: 'linking', code: spare });
      });
  }, [asking, spare, round, leave]);
  switch (state.state) {
    case 'out':
      return (
        <SignIn
          notice={state.notice}
          onToken={(token, me) => {
            sessionStorage.setItem(TOKEN, token);
            setState({ state: 'in', token, me });
          }}
        />
      );
    case 'arriving':
    case 'linking':
    case 'asking':
      return (
        <main class="sign-in">
          <h1>Holdpoint</h1>
          {problem ? (
            <div class="problem" role="alert">
              Holdpoint cannot be reached.
              <button type="button" onClick={() => setRound(round + 1)}>
                Try again
              </button>
            </div>
          ) : (
            <p role="status">Loading …</p>
          )}
        </main>
      );
    case 'in':
      return <Signed token={state.token} me={state.me} onOut={leave} />;
  }
};
