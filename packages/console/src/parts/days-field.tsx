/** A lifetime in whole days, up to almost a year. */
export const DaysField = ({
  days,
  onDays,
}: {
  readonly days: number;
  readonly onDays: (days: number) => void;
}) => (
  <label>
    Days
    <input
      type="number"
      min={1}
      max={360}
      value={days}
      onInput={({ currentTarget }) => onDays(Math.max(1, Math.min(360, currentTarget.valueAsNumber || 1)))}
    />
  </label>
);
