import type { OidcCode, SignedIn, SignInWays } from '@holdpoint/contracts/approval/sign-in';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Safe } from '../parts/safe.tsx';
import { CallError, createCaller } from './call.ts';
import type { Me } from './context.ts';
import { beginSignIn, storePendingSignIn, type OidcWay } from './oidc.ts';

/** A pasted token, without blanks, line ends and scheme. */
const tokenIn = (text: string): string => text.trim().replace(/^bearer\s+/i, '');

const textOf = (error: unknown): string => {
  if (!(error instanceof CallError)) return 'Sign-in failed. Try again.';
  if (error.status === 401) return 'Unknown or expired token.';
  if (error.status === 429) return 'Too many attempts. Wait a moment.';
  return error.code === 'CONSOLE_UNREACHABLE' ? 'Holdpoint cannot be reached.' : error.message;
};

/** The owner of a token. Throws `CallError`. */
export const whoIs = (token: string): Promise<Me> =>
  createCaller(token, () => undefined).ask('approvals', 'whoami', {});

/** Anonymous calls for endpoints without a token. */
const nobody = createCaller(undefined, () => undefined);

/** Responses follow their contract. Throws `CallError`. */
const waysToSignIn = async (signal?: AbortSignal): Promise<SignInWays> =>
  (await nobody.read('console/sign-in', signal)) as SignInWays;

/** Redeems the code for a token. Throws `CallError`. */
export const redeem = async (code: OidcCode): Promise<string> =>
  ((await nobody.post('console/sign-in/oidc', code)) as SignedIn).token;

/** Exchanges the code of a sign-in link for the token of a session. Throws `CallError`. */
export const redeemLink = async (code: string): Promise<string> =>
  ((await nobody.post('console/sign-in/code', { code })) as SignedIn).token;

/** Why a sign-in link failed. */
export const linkProblem = (error: unknown): string => {
  if (error instanceof CallError && error.status === 429) return 'Too many attempts. Wait a moment.';
  if (error instanceof CallError && error.code === 'APPROVALS_SIGN_IN_REFUSED')
    return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1).replaceAll('`', '')}.`;
  return 'Holdpoint cannot be reached. Open a new link: this one may be used.';
};

/** Why the sign-in failed. */
export const redeemProblem = (error: unknown, name: string): string => {
  if (!(error instanceof CallError)) return 'Sign-in failed. Sign in again.';
  if (error.code === 'CONSOLE_UNREACHABLE') return 'Holdpoint cannot be reached. Sign in again.';
  if (error.code === 'RUNTIME_UNAVAILABLE')
    return `${name} does not answer Holdpoint. Sign in later, or with a token.`;
  if (error.status === 429) return 'Too many attempts. Wait a moment.';
  return `Sign-in failed: ${error.message}.`;
};

/** The configured login, if any. */
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
    // After a return from the provider, the browser may restore the page as it was.
    const back = (): void => setBusy(false);
    addEventListener('pageshow', back);
    return () => removeEventListener('pageshow', back);
  }, []);
  const leave = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      // A provider that did not answer before may answer now.
      const login = way.authorizationEndpoint ?? (await waysToSignIn()).oidc?.authorizationEndpoint;
      if (login === undefined) throw new CallError('RUNTIME_UNAVAILABLE', 'the provider does not answer');
      const { pending, url } = await beginSignIn(way, login, location);
      storePendingSignIn(pending);
      location.assign(url);
    } catch (failed) {
      setError(
        failed instanceof CallError && failed.code === 'CONSOLE_UNREACHABLE'
          ? 'Holdpoint cannot be reached.'
          : `The login of ${way.name} cannot be reached. Try again later, or use a token.`,
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
    // Not a valid header value.
    if (!/^[\x21-\x7e]{1,8192}$/.test(token)) return setError('Invalid token.');
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
      <p>No side effect without the approval of an entitled person.</p>
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
        <code>holdpoint console</code> prints a link that signs you in. Or ask your administrator for a token.
        It is kept in this tab only, until you close it.
      </p>
    </main>
  );
};
