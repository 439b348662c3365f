import { useState } from 'preact/hooks';

/** A button that asks once more before it acts. */
export const Confirm = ({
  label,
  of,
  question,
  isBusy,
  onConfirm,
}: {
  readonly label: string;
  /** The row that it acts on, for screen readers. */
  readonly of: string;
  readonly question: string;
  readonly isBusy: boolean;
  readonly onConfirm: () => void;
}) => {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking)
    return (
      <button type="button" class="stop" aria-label={`${label} ${of}`} onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  return (
    <div class="confirm" role="group" aria-label={`${label} ${of}`}>
      <p>{question}</p>
      <div class="row">
        <button
          type="button"
          class="primary stop"
          disabled={isBusy}
          ref={(button) => button?.focus()}
          onClick={() => {
            setAsking(false);
            onConfirm();
          }}
        >
          Confirm: {label}
        </button>
        <button type="button" disabled={isBusy} onClick={() => setAsking(false)}>
          Back
        </button>
      </div>
    </div>
  );
};

export const ChangeProblem = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="note refused" role="alert">
      {text}
    </p>
  );
