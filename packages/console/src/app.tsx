import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { HealthPage } from './health/health-page.tsx';
import { InboxPage } from './inbox/inbox-page.tsx';
import { createWatch, type WatchState } from './live/watch.ts';
import { useKeys } from './parts/use-keys.ts';
import { useAnnouncement } from './parts/use-announcement.ts';
import { Safe } from './parts/safe.tsx';
import { RecoveryPage } from './recovery/recovery-page.tsx';
import { createCaller, isExpired } from './session/call.ts';
import { mayDo, type Me, type Session, SessionContext } from './session/context.ts';
import { type Arrival, takeArrival } from './session/oidc.ts';
import { redeem, redeemProblem, SignIn, whoIs } from './session/sign-in.tsx';
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
};
const STATES: Readonly<Record<WatchState, string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: 'Connection lost, reconnecting …',
};

const KEYS: readonly (readonly [string, string])[] = [
  ['1 2 3 4', 'Inbox, Tasks, Recovery, Health'],
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
  const session = useMemo<Session>(() => {
    const onExpired = (): void => onOut(EXPIRED);
    const all = me.administrator || mayDo(me, 'audit:read');
    const watch = createWatch(token, { all, onExpired });
    return { caller: createCaller(token, onExpired), me, watch, say, signOut: () => onOut() };
  }, [token, me, onOut, say]);
  const [state, setState] = useState<WatchState>('connecting');
  useEffect(() => {
    const stop = session.watch.onState(setState);
    setState(session.watch.state());
    return () => {
      stop();
      session.watch.stop();
    };
  }, [session]);
  useEffect(
    () =>
      session.watch.subscribe({
        gap: () => undefined,
        approval: ({ title, status, decidedBy }, change) => {
          // Decisions of this user are announced where they are made.
          if (change === 'resolved' && decidedBy !== me.name)
            tell(`${status.replace('_', ' ')} by ${decidedBy ?? 'nobody'}: ${title.slice(0, 80)}`);
          if (change === 'requested') tell(`New request: ${title.slice(0, 80)}`);
        },
      }),
    [session, me.name, tell],
  );
  useEffect(() => {
    document.title = `${NAMES[route.page]} · Holdpoint`;
  }, [route.page]);
  const turn = (page: Page) => (): void => {
    location.hash = hrefOf(page);
  };
  useKeys({
    '1': turn('inbox'),
    '2': turn('tasks'),
    '3': turn('recovery'),
    '4': turn('health'),
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
          <Safe text={me.name} />
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
  | { readonly state: 'asking'; readonly token: string }
  | { readonly state: 'in'; readonly token: string; readonly me: Me };

const initial = (): State => {
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
  const asking = state.state === 'asking' ? state.token : undefined;
  const [problem, setProblem] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (asking === undefined) return;
    setProblem(false);
    whoIs(asking)
      .then((me) => setState({ state: 'in', token: asking, me }))
      .catch((error: unknown) => (isExpired(error) ? leave(EXPIRED) : setProblem(true)));
  }, [asking, round, leave]);
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
