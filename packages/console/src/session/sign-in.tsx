import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError, createCaller } from './call.ts';
import type { Me } from './context.ts';

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
          {notice}
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
      <p class="hint">
        Whoever runs Holdpoint gives you one, or you make one with <code>holdpoint tokens create</code>. It is
        kept in this tab only, and gone when you close it.
      </p>
    </main>
  );
};
