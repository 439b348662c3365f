import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { EventsState } from '../live/events.ts';
import { Empty } from '../parts/bits.tsx';
import { Safe, Short } from '../parts/safe.tsx';
import { searched, type LogLines } from './log-lines.ts';

const SHOWN = 600;
const LINE_MAX = 1_000;

const Line = ({ text }: { readonly text: string }) => {
  const [isOpen, setOpen] = useState(false);
  if (text.length <= LINE_MAX) return <Safe text={text} />;
  return (
    <>
      {isOpen ? <Safe text={text} /> : <Short text={text} max={LINE_MAX} />}{' '}
      <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'less' : `${(text.length - LINE_MAX).toLocaleString()} characters more`}
      </button>
    </>
  );
};

const STATES: Readonly<Record<EventsState, string>> = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'connection lost, reconnecting …',
};

export const LogView = ({
  log: { lines, dropped },
  state,
  node,
  nodes,
  onNode,
}: {
  readonly log: LogLines;
  readonly state: EventsState;
  readonly node: string;
  readonly nodes: readonly string[];
  readonly onNode: (node: string) => void;
}) => {
  const [words, setWords] = useState('');
  const [follows, setFollows] = useState(true);
  const [count, setCount] = useState(SHOWN);
  const box = useRef<HTMLDivElement>(null);
  const fitting = useMemo(
    () => searched(node === '' ? lines : lines.filter((line) => line.node === node), words),
    [lines, node, words],
  );
  const shown = fitting.slice(-count);
  const last = shown.at(-1);
  useEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follows, last, shown.length]);
  return (
    <>
      <div class="filters">
        <input
          type="search"
          placeholder="Search the log"
          aria-label="Search the log"
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <select aria-label="Step" value={node} onChange={({ currentTarget }) => onNode(currentTarget.value)}>
          <option value="">All steps</option>
          {nodes.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <label class="check">
          <input type="checkbox" checked={follows} onChange={() => setFollows(!follows)} /> Follow
        </label>
        <span class="hint" role="status">
          {STATES[state]}
          {words !== '' && `, ${String(fitting.length)} lines found`}
        </span>
      </div>
      {lines.length === 0 ? (
        <Empty>No recent output. The artifacts have the whole logs.</Empty>
      ) : (
        <div
          class="log"
          ref={box}
          tabIndex={0}
          role="log"
          aria-label="Live log"
          aria-live="off"
          onWheel={({ deltaY }) => deltaY < 0 && setFollows(false)}
        >
          {dropped > 0 && <p class="hint">{dropped.toLocaleString()} earlier lines were dropped.</p>}
          {fitting.length > shown.length && (
            <button type="button" class="link" onClick={() => setCount(count * 4)}>
              show earlier lines ({(fitting.length - shown.length).toLocaleString()} left)
            </button>
          )}
          {shown.map((line) => (
            <div
              key={`${line.node} ${String(line.attempt)} ${line.step} ${line.stream} ${String(line.seq)}`}
              class={`log-line ${line.stream}`}
            >
              <span class="log-node">{line.node}</span> <Line text={line.line} />
            </div>
          ))}
        </div>
      )}
    </>
  );
};
