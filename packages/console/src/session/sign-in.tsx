import type { OidcCode, SignedIn, SignInWays } from '@holdpoint/contracts/approval/sign-in';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Safe } from '../parts/safe.tsx';
import { CallError, createCaller } from './call.ts';
import type { Me } from './context.ts';
import { beginSignIn, keepBegun, type OidcWay } from './oidc.ts';

/** A token as people paste it: with spaces, line ends or its scheme around it. */
const tokenIn = (text: string): string => text.trim().replace(/^bearer\s+/i, '');

const textOf = (error: unknown): string => {
  if (!(error instanceof CallError)) return 'That did not work. Try again.';
  if (error.status === 401) return 'This token is not known, or is not valid any more.';
  if (error.status === 429) return 'Too many tries. Wait a little.';
  return error.code === 'CONSOLE_UNREACHABLE' ? 'Holdpoint cannot be reached.' : error.message;
};

/** Whose a token is. Throws `CallError`. */
export const whoIs = (token: string): Promise<Me> =>
  createCaller(token, () => undefined).ask('approvals', 'whoami', {});

/** As nobody: nothing that is asked of it needs a token. */
const nobody = createCaller(undefined, () => undefined);

/** What the service says is what its contract has. Throws `CallError`. */
const waysToSignIn = async (signal?: AbortSignal): Promise<SignInWays> =>
  (await nobody.read('console/sign-in', signal)) as SignInWays;

/** The token for what somebody has come back with. Throws `CallError`. */
export const redeem = async (code: OidcCode): Promise<string> =>
  ((await nobody.post('console/sign-in/oidc', code)) as SignedIn).token;

/** Why nobody was signed in by a login. */
export const redeemProblem = (error: unknown, name: string): string => {
  if (!(error instanceof CallError)) return 'That did not work. Sign in again.';
  if (error.code === 'CONSOLE_UNREACHABLE') return 'Holdpoint cannot be reached. Sign in again.';
  if (error.code === 'RUNTIME_UNAVAILABLE')
    return `${name} does not answer Holdpoint. Sign in again in a while, or with a token.`;
  if (error.status === 429) return 'Too many tries. Wait a little.';
  return `You were not signed in: ${error.message}.`;
};

/** The way by a login, if there is one. */
const useOidc = (): OidcWay | undefined => {
  const [way, setWay] = useState<OidcWay>();
  useEffect(() => {
    const leaving = new AbortController();
    waysToSignIn(leaving.signal)
      .then(({ oidc }) => setWay(oidc))
      // A service of an older release knows no such ways; one that is away says so when a token is sent.
      .catch(() => undefined);
    return () => leaving.abort();
  }, []);
  return way;
};

const OidcButton = ({ way }: { readonly way: OidcWay }) => {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    // Whoever turns back at the provider finds the page as he has left it.
    const back = (): void => setBusy(false);
    addEventListener('pageshow', back);
    return () => removeEventListener('pageshow', back);
  }, []);
  const leave = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      // One that did not answer when the page was opened may do so by now.
      const login = way.authorizationEndpoint ?? (await waysToSignIn()).oidc?.authorizationEndpoint;
      if (login === undefined) throw new CallError('RUNTIME_UNAVAILABLE', 'the provider does not answer');
      const { begun, url } = await beginSignIn(way, login, location);
      keepBegun(begun);
      location.assign(url);
    } catch (failed) {
      setError(
        failed instanceof CallError && failed.code === 'CONSOLE_UNREACHABLE'
          ? 'Holdpoint cannot be reached.'
          : `The login of ${way.name} cannot be reached. Try again in a while, or use a token.`,
      );
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void leave()}>
        <span>
          Sign in with <Safe text={way.name} />
        </span>
      </button>
      {error !== undefined && (
        <p class="note refused" role="alert">
          <Safe text={error} />
        </p>
      )}
    </>
  );
};

export const SignIn = ({
  notice,
  onToken,
}: {
  readonly notice: string | undefined;
  readonly onToken: (token: string, me: Me) => void;
}) => {
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const way = useOidc();
  useEffect(() => field.current?.focus(), []);
  const send = async (): Promise<void> => {
    const token = tokenIn(text);
    // What no header can hold is no token.
    if (!/^[\x21-\x7e]{1,8192}$/.test(token)) return setError('This is no token.');
    setBusy(true);
    setError(undefined);
    try {
      onToken(token, await whoIs(token));
    } catch (failed) {
      setError(textOf(failed));
      setBusy(false);
      field.current?.select();
    }
  };
  return (
    <main class="sign-in">
      <h1>Holdpoint</h1>
      <p>Nothing happens before somebody entitled to it has said yes.</p>
      {notice !== undefined && (
        <p class="note refused" role="alert">
          <Safe text={notice} />
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void send();
        }}
      >
        <label>
          Your token
          <input
            ref={field}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        {error !== undefined && (
          <p class="note refused" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="primary" disabled={isBusy || text.trim() === ''}>
          Sign in
        </button>
      </form>
      {way !== undefined && <OidcButton way={way} />}
      <p class="hint">
        Whoever runs Holdpoint gives you a token, or you make one with <code>holdpoint tokens create</code>.
        It is kept in this tab only, and gone when you close it.
      </p>
    </main>
  );
};
