import { sha256Of } from '@holdpoint/contracts/values/json';
import { useState } from 'preact/hooks';
import { Safe } from '../parts/safe.tsx';

export type NewSecret = { readonly secret: string; readonly sha256: string };

/** A secret that is generated in this tab; only its hash is sent. */
export const newSecret = (): NewSecret => {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const text = btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (each) =>
    each === '+' ? '-' : each === '/' ? '_' : '',
  );
  const secret = `hpt_${text}`;
  return { secret, sha256: sha256Of(secret) };
};

/** A new token, shown until it is closed. */
export const ShownSecret = ({
  owner,
  secret,
  onClose,
}: {
  readonly owner: string;
  readonly secret: string;
  readonly onClose: () => void;
}) => {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="note secret" role="status">
      <p>
        <strong>
          Token of <Safe text={owner} />
        </strong>
        , shown only once:
      </p>
      <pre tabIndex={0}>{secret}</pre>
      <div class="row">
        {navigator.clipboard !== undefined && (
          <button
            type="button"
            onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}
          >
            {isCopied ? 'Copied' : 'Copy'}
          </button>
        )}
        <button type="button" onClick={onClose}>
          Hide it
        </button>
      </div>
    </div>
  );
};
